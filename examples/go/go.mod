module serving_processor_host

go 1.18

-- Requests of one job for wrk, and its result as one line of JSON.
-- Variables: LOAD_PORTS has the ports of the workers, and LOAD_FOLDER names a folder with the files `request` (method,
-- path, expected status and header fields in its lines), `body`, and `proofs` if each request presents another one.
local threads = {}
local ports = {}

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
  -- Each thread calls a worker of its own.
  if #ports == 0 then
    for word in string.gmatch(os.getenv("LOAD_PORTS"), "%d+") do table.insert(ports, word) end
  end
  thread.addr = wrk.lookup("127.0.0.1", ports[(#threads - 1) % #ports + 1])[1]
end

function init(arguments)
  answered, wrong, wrong_status = 0, 0, 0
  local lines = {}
  for line in io.lines(os.getenv("LOAD_FOLDER") .. "/request") do table.insert(lines, line) end
  method, path, expected = lines[1], lines[2], tonumber(lines[3])
  headers = {}
  for place = 4, #lines do
    local name, value = string.match(lines[place], "^([^:]+): (.*)$")
    headers[name] = value
  end
  local file = io.open(os.getenv("LOAD_FOLDER") .. "/body", "rb")
  body = file and file:read("*a") or nil
  proofs = nil
  file = io.open(os.getenv("LOAD_FOLDER") .. "/proofs", "r")
  if file then
    proofs, place = {}, 0
    local count, workers = 0, 0
    for _ in string.gmatch(os.getenv("LOAD_PORTS"), "%d+") do workers = workers + 1 end
    for line in file:lines() do
      -- Each thread presents other proofs.
      if count % workers == number - 1 then table.insert(proofs, line) end
      count = count + 1
    end
  end
  fixed = wrk.format(method, path, headers, body)
end

function request()
  if proofs == nil then return fixed end
  place = place + 1
  headers["X-PAYMENT"] = proofs[place] or "none"
  return wrk.format(method, path, headers, body)
end

function response(status)
  answered = answered + 1
  if status ~= expected then wrong, wrong_status = wrong + 1, status end
end

function done(summary, latency, requests)
  local answered, wrong, wrong_status = 0, 0, 0
  for _, thread in ipairs(threads) do
    answered = answered + thread:get("answered")
    wrong = wrong + thread:get("wrong")
    wrong_status = math.max(wrong_status, thread:get("wrong_status"))
  end
  local errors = summary.errors
  io.write(string.format(
    '{"answered": %d, "wrong": %d, "wrong_status": %d, "broken": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f}\n',
    answered, wrong, wrong_status, errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end

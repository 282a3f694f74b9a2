import TransferClient

struct PushPhoto {
    static func main() async {
        guard let server = ServerAddress("nas.local") else { return }
        do throws(TransferFailure) {
            let client = try TransferClient(server: server)
            for report in try await client.push(.path("photo.png")) {
                switch report.result {
                case .committed, .alreadyStored: print("stored as", report.storedPath ?? "")
                default: print(report.result, report.message)
                }
            }
        } catch {
            print(error.message)
        }
    }
}

func push(_ paths: [String], to address: String) async throws -> Bool {
    guard let server = ServerAddress(address) else { return false }
    let client = try TransferClient(server: server)
    var areAllStored = true
    for try await event in client.push(paths.map { .path($0) }) {
        guard case .finished(let report) = event else { continue }
        print(report.result, report.source, report.storedPath ?? report.message)
        if !report.result.isSuccess { areAllStored = false }
    }
    return areAllStored
}

struct Unsafe: Error {
    let message: String
}

func report(_ text: String, to server: ServerAddress) async throws {
    var configuration = ClientConfiguration()
    var trust = ServerTrust()
    trust.key = KeyFingerprint("SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU")
    configuration.security = .tls(trust)
    try configuration.showKey(in: "/var/lib/station/key.pem")
    configuration.retryFor = 600
    let client = try TransferClient(server: server, configuration: configuration)
    let reports = try await client.push(.text(text, name: "station.txt"))
    guard let report = reports.first, report.result.isSuccess, report.isDurable else {
        throw Unsafe(message: reports.first?.message ?? "nothing was sent")
    }
}

func push(_ samples: some ByteSource, as name: String, by client: TransferClient) async throws {
    let events = client.push([.stream(samples, name: name)])
    for try await event in events {
        switch event {
        case .progress(let progress): print(progress.source, progress.bytes)
        case .finished(let report): print(report.result, report.digest?.description ?? "")
        case .notice(let sentence): print(sentence)
        case .connected, .reconnecting, .counted, .known: break
        }
    }
}

func fetch(_ folder: String, by client: TransferClient) async throws {
    for try await entry in client.list(folder) { print(entry.path, entry.size) }
    for try await _ in client.pull([folder], to: "/var/lib/station") {}
}

func exchange(_ path: String, with people: [String], at server: ServerAddress) async throws {
    var configuration = ClientConfiguration()
    try configuration.showKey(in: "/var/lib/station/key.pem")
    configuration.recipients = people
    let client = try TransferClient(server: server, configuration: configuration)
    for report in try await client.push(.path(path)) { print(report.result, report.recipients) }
    var options = ReceiveOptions()
    options.senders = people
    for try await event in client.receive(to: "/var/lib/station/inbox", options) {
        guard case .finished(let report) = event else { continue }
        print(report.delivery.person, report.path ?? report.message, report.state)
    }
}

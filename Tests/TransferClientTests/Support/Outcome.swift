import Testing
import TransferClient
import TransferModel
import TransferProtocol

/// All events of one push.
struct Outcome {
    var reports: [UploadReport] = []
    var connections = 0
    /// Reasons for lost connections.
    var losses: [String] = []
    var notices: [String] = []
    var folders: [KnownFolder] = []
    var failure: TransferFailure?

    init(_ events: PushEvents) async {
        var iterator = events.makeAsyncIterator()
        do throws(TransferFailure) {
            while let event = try await iterator.next() { add(event) }
        } catch {
            failure = error
        }
    }

    private mutating func add(_ event: PushEvent) {
        switch event {
        case .finished(let report): reports.append(report)
        case .connected: connections += 1
        case .reconnecting(let reason, _): losses.append(reason)
        case .notice(let sentence): notices.append(sentence)
        case .known(let folder): folders.append(folder)
        case .counted, .progress: break
        }
    }

    var codes: [ResultCode] { reports.map(\.result) }

    subscript(source: String) -> UploadReport? {
        let found = reports.filter { $0.source == source }
        return found.count == 1 ? found[0] : nil
    }

    /// Sources of all reports, with repetitions.
    var sources: [String] { reports.map(\.source).sorted() }
}

extension TransferClient {
    /// Pushes and waits for the end.
    func outcome(_ uploads: some Sequence<Upload> & Sendable) async -> Outcome { await Outcome(push(uploads)) }
}

extension ClientConfiguration {
    /// For tests that do not need TLS.
    static var plaintext: ClientConfiguration {
        var configuration = ClientConfiguration()
        configuration.security = .plaintext
        return configuration
    }

    /// Uses TLS and trusts any server.
    static var trusting: ClientConfiguration {
        var trust = ServerTrust()
        trust.known = nil
        trust.firstContact = .trust
        var configuration = ClientConfiguration()
        configuration.security = .tls(trust)
        return configuration
    }

    /// For tests that are not about time-outs. A wait in vain fails a test in any case, and the machine may be busy or
    /// suspended for a while; a fake server that accepts one connection would never see a second one.
    static var patient: ClientConfiguration {
        var configuration = ClientConfiguration.plaintext
        configuration.handshakeTimeout = 600
        configuration.silenceTimeout = 600
        configuration.retryFor = 600
        return configuration
    }
}

extension ServerAddress {
    /// Pushes with a new client.
    func outcome(
        _ uploads: some Sequence<Upload> & Sendable, _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Outcome {
        var configuration = ClientConfiguration.patient
        adjust(&configuration)
        return await (try TransferClient(server: self, configuration: configuration)).outcome(uploads)
    }
}

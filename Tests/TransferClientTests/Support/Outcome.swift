import Testing
import TransferClient
import TransferModel
import TransferProtocol

/// All that came of one push.
struct Outcome {
    var reports: [UploadReport] = []
    var connections = 0
    /// Why connections were lost.
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

    /// What has a report, each as often as it has one.
    var sources: [String] { reports.map(\.source).sorted() }
}

extension TransferClient {
    /// Pushes and waits for the end.
    func outcome(_ uploads: some Sequence<Upload> & Sendable) async -> Outcome { await Outcome(push(uploads)) }
}

extension ClientConfiguration {
    /// For what is not about TLS.
    static var plaintext: ClientConfiguration {
        var configuration = ClientConfiguration()
        configuration.security = .plaintext
        return configuration
    }

    /// With TLS, and whatever server there is.
    static var trusting: ClientConfiguration {
        var trust = ServerTrust()
        trust.known = nil
        trust.firstContact = .trust
        var configuration = ClientConfiguration()
        configuration.security = .tls(trust)
        return configuration
    }

    /// For what is not about time-outs. Who waits in vain is a test's failure anyway, and the machine may be busy or
    /// stand still for a while; a fake server that accepts one connection would never see a second one.
    static var patient: ClientConfiguration {
        var configuration = ClientConfiguration.plaintext
        configuration.handshakeTimeout = 600
        configuration.silenceTimeout = 600
        configuration.retryFor = 600
        return configuration
    }
}

extension ServerAddress {
    /// For a push of its own.
    func outcome(
        _ uploads: some Sequence<Upload> & Sendable, _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Outcome {
        var configuration = ClientConfiguration.patient
        adjust(&configuration)
        return await (try TransferClient(server: self, configuration: configuration)).outcome(uploads)
    }
}

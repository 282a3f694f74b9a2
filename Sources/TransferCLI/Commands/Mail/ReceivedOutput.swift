internal import TransferClient
private import TransferModel
private import TransferSystem

/// `transfer receive --output`: the content of one delivery in one file, or on standard output.
struct ReceivedOutput {
    private let client: TransferClient
    private let options: ReceiveOptions
    private let question: DeliveryQuestion?
    private let reporter: ReceiveReporter

    init(
        _ client: TransferClient, _ options: ReceiveOptions, _ question: DeliveryQuestion?, _ reporter: ReceiveReporter
    ) {
        (self.client, self.options, self.question, self.reporter) = (client, options, question, reporter)
    }

    /// - Parameter target: a path, or `-`.
    func put(_ target: String) async throws(TransferFailure) -> ExitCode {
        guard let delivery = try await one() else { return .uploadsFailed }
        switch await question?.ask(delivery, reporter) ?? .take {
        case .leave: return await reporter.finish(nil)
        case .decline:
            try await client.decline([delivery])
            return await reporter.finish(nil)
        case .take, .takeAs: break
        }
        return try await target == "-" ? write(delivery) : store(delivery, target)
    }

    /// Splits a path into its folder and its last component.
    static func folder(of target: String) -> (folder: String, name: String) {
        guard let slash = target.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", target) }
        let folder = slash == target.startIndex ? "/" : String(target[..<slash])
        return (folder, String(target[target.utf8.index(after: slash)...]))
    }

    /// The only waiting delivery. If there is not exactly one, prints a message and returns nil.
    private func one() async throws(TransferFailure) -> Delivery? {
        var found: [Delivery] = []
        var waiting = client.inbox(from: options.senders).makeAsyncIterator()
        while let delivery = try await waiting.next() { found.append(delivery) }
        guard found.count == 1 else {
            let count = found.isEmpty ? "no delivery is waiting" : "\(found.count) deliveries are waiting"
            await reporter.fail("\(count), but --output takes exactly one; 'transfer inbox' lists them")
            return nil
        }
        return found[0]
    }

    private func store(_ delivery: Delivery, _ target: String) async throws(TransferFailure) -> ExitCode {
        let (directory, name) = Self.folder(of: target)
        var options = options
        options.choose = { $0.id == delivery.id ? .takeAs(name) : .leave }
        let events = client.receive(to: directory, options)
        Interruption.watch { events.cancel() }
        for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
        return await reporter.finish(nil)
    }

    /// Writes the content to standard output. The delivery counts as received once all content is written, because the
    /// program cannot know what the reader does with it.
    private func write(_ delivery: Delivery) async throws(TransferFailure) -> ExitCode {
        if options.opens, let key = try client.meet(delivery) {
            await reporter.show(.met(name: delivery.person, fingerprint: key), isLast: true)
        }
        let parts = client.read(delivery, opens: options.opens)
        Interruption.watch { parts.cancel() }
        for try await part in parts {
            let piece: [UInt8]
            switch part {
            case .content(let bytes): piece = bytes
            case .end(let verified):
                if let doubt = verified.doubt { await reporter.tell(doubt) }
                if !options.keeps { try await client.settle([verified]) }
                continue
            }
            switch piece.withUnsafeBytes({ StandardStream.output.write($0) }) {
            case .written: break
            case .closed: return .uploadsFailed
            case .failed(let error):
                await reporter.fail("cannot write to standard output: \(error.reason)")
                return .uploadsFailed
            }
        }
        return .success
    }
}

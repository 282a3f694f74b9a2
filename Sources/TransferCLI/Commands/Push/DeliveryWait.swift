internal import TransferClient
private import TransferModel

/// `transfer push --wait-delivered`: waits until the recipients have received the uploads.
struct DeliveryWait {
    /// An upload for one person under one name. The server chooses the IDs of deliveries, so deliveries are recognised
    /// by these properties. If several deliveries have the same ones, the latest belong to this push.
    private struct Parcel: Hashable {
        let name: PathKey
        let digest: Digest?
        let person: PathKey
    }

    private let seconds: Double
    private let recipients: [String]
    private let output: PushOutput
    /// For each combination of properties, the number of uploads of this push.
    private var sent: [Parcel: Int] = [:]
    /// Local names of sealed uploads, by the digest that the server knows.
    private var names: [Digest: String] = [:]

    /// - Parameter seconds: the longest time to wait.
    init(_ seconds: Double, for recipients: [String], _ output: PushOutput) {
        (self.seconds, self.recipients, self.output) = (seconds, recipients, output)
    }

    /// Records a finished upload, whose deliveries are awaited.
    mutating func add(_ report: UploadReport) {
        guard report.result == .committed || report.result == .alreadyStored, let name = report.listedName else {
            return
        }
        if report.isSealed, let digest = report.digest { names[digest] = report.destination }
        for person in recipients {
            sent[Parcel(name: PathKey(name), digest: report.digest, person: PathKey(person)), default: 0] += 1
        }
    }

    /// Waits for the deliveries, and prints the outcome of each.
    func run(_ client: TransferClient) async -> ExitCode {
        guard !sent.isEmpty else { return .success }
        let news = client.watchSent(to: recipients, wantsReceipts: output.isJSON)
        Interruption.watch { news.cancel() }
        let patience = Task { [seconds] in
            try? await Task.sleep(for: .seconds(seconds))
            news.cancel()
        }
        defer { patience.cancel() }
        var progress = Progress()
        var printer = LinePrinter()
        do throws(TransferFailure) {
            for try await event in news {
                for delivery in take(event, &progress) { show(delivery, &printer) }
                if !news.areWaiting { printer.flush() }
                if progress.isOver { break }
            }
        } catch {
            printer.flush()
            // The time is up, or a signal has stopped the wait.
            guard error.reason == .cancelled else { return error.tell() }
        }
        let code = printer.finish()
        let open = progress.isListed ? progress.open.count + progress.missing : sent.values.reduce(0, +)
        guard open == 0 else {
            let count = open == 1 ? "1 delivery is" : "\(open) deliveries are"
            StandardStream.error.write(
                "\(count) not confirmed yet; 'transfer sent' shows their state\n")
            return .undelivered
        }
        return progress.failures > 0 ? .uploadsFailed : code
    }

    private func show(_ delivery: Delivery, _ printer: inout LinePrinter) {
        if output.isJSON {
            let signer = try? delivery.verifiedReceipt()
            printer.add(delivery.json(isSent: true, signer: signer?.receipt.recipient).text)
        } else if !output.isQuiet || delivery.state != .delivered {
            printer.add(
                "\(delivery.state.name)  \((names[delivery.digest] ?? delivery.name).escapedForDisplay)  to \(delivery.person.escapedForDisplay)"
            )
        }
    }
}

extension DeliveryWait {
    /// The state of the deliveries of this push.
    private struct Progress {
        /// Whether the server has listed all deliveries.
        var isListed = false
        /// All listed deliveries with the properties of uploads of this push, in the order of their numbers; empty once
        /// `isListed` is true.
        var alike: [Parcel: [Delivery]] = [:]
        /// The numbers of the deliveries that are not finished.
        var open: Set<UInt64> = []
        /// Number of uploads whose deliveries the server does not list.
        var missing = 0
        /// Number of deliveries that were declined or have expired.
        var failures = 0

        var isOver: Bool { isListed && open.isEmpty }

        /// - Returns: the delivery if it has just finished; nil otherwise.
        mutating func take(_ delivery: Delivery) -> Delivery? {
            guard !delivery.state.isOpen, open.remove(delivery.number) != nil else { return nil }
            if delivery.state != .delivered { failures += 1 }
            return delivery
        }
    }

    /// - Returns: the deliveries that have just finished.
    private func take(_ news: MailNews, _ progress: inout Progress) -> [Delivery] {
        switch news {
        case .delivery(let delivery) where progress.isListed: return progress.take(delivery).map { [$0] } ?? []
        case .delivery(let delivery):
            let parcel = Parcel(
                name: PathKey(delivery.name), digest: delivery.digest, person: PathKey(delivery.person))
            if sent[parcel] != nil { progress.alike[parcel, default: []].append(delivery) }
            return []
        case .listed where progress.isListed: return []
        case .listed:
            progress.isListed = true
            var latest: [Delivery] = []
            for (parcel, count) in sent {
                let found = progress.alike[parcel, default: []].latest(count)
                if found.isEmpty { progress.missing += 1 }
                latest += found
            }
            progress.open = Set(latest.map(\.number))
            progress.alike = [:]
            return latest.sorted { $0.number < $1.number }.compactMap { progress.take($0) }
        }
    }
}

extension [Delivery] {
    /// The deliveries with the largest numbers, each in its latest state.
    fileprivate func latest(_ count: Int) -> [Delivery] {
        let byNumber = Dictionary(map { ($0.number, $0) }) { _, last in last }
        return Array(byNumber.values.sorted { $0.number > $1.number }.prefix(count))
    }
}

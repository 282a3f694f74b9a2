import TransferIO
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferPorts
import TransferStore
import TransferSystem

/// Receives what waits in a mailbox into a directory: it lists deliveries, has them fetched like pulled files, and
/// reports to the server what has become durable.
///
/// ```
///   listed ──chosen──► under way ──published──► waiting ──settle──► settled
///      └──here since before──────────────────────►┘
///      └──declined──settle──► settled
/// ```
final class ReceivePlan: RequestPlan {
    struct State {
        enum Step {
            case wanted, asked, done
        }

        /// The state of the question under which name the server knows this client; `name` has the answer.
        var naming = Step.wanted
        var name: String?
        /// The server of the first connection, and whether all connections have led to it.
        var server: ProvenServer?
        var isOneServer = true
        /// The server key that receipts name; nil if they name no server.
        var serverKey: ServerKey?

        /// The state of the list of waiting deliveries.
        enum Listing: Equatable {
            case wanted, asked, done
            /// A delivery did not fit into the budget, of which `held` bytes were used. The client has cancelled the list.
            case overdrawn(held: UInt64)
            /// The cancelled list has ended. The client asks for the rest of it when the deliveries take fewer than `held` bytes.
            case paused(held: UInt64)
        }
        var listing = Listing.wanted
        /// The largest number that was listed.
        var last: UInt64 = 0
        /// The ids of listed deliveries about which the client has reported nothing to the server.
        var open: Set<UploadID> = []
        /// The memory that the listed deliveries take. A delivery that stays on the server counts with its id only.
        var budget = ListBudget()

        /// Deliveries that the user has to decide about, one after the other.
        var questions: [Delivery] = []
        var isChoosing = false

        /// Deliveries that are being fetched.
        var underWay: [UploadID: Delivery] = [:]
        var waiting: [Arrival] = []
        var declined: [Delivery] = []
        /// Batches that must be sent again.
        var batches: [SettleBatch] = []
        /// The number of batches that were sent and not answered.
        var settling = 0

        var failure: TransferFailure?
        var news: (@Sendable () -> Void)?

        /// Whether the user has answered all questions, and the server has answered all settlements.
        var isQuiet: Bool {
            !isChoosing && questions.isEmpty && waiting.isEmpty && declined.isEmpty && batches.isEmpty && settling == 0
                && naming != .asked
        }

        /// Whether the rest of a list is wanted.
        var wantsMore: Bool {
            if case .overdrawn = listing { false } else { failure == nil }
        }

        /// Releases the memory of a delivery that stays on the server, except for its id.
        mutating func setAside(_ delivery: Delivery) { budget.release(delivery.heldBytes - ListBudget.nameBytes) }

        /// - Parameter outcome: the outcome of the list; nil if the connection was lost before.
        mutating func listed(_ outcome: Outcome?) {
            if case .overdrawn(let held) = listing { return listing = .paused(held: held) }
            guard let outcome else { return listing = .wanted }
            // A list that has failed does not show which deliveries the server no longer has.
            guard outcome.code == .completed else { return failure = failure ?? TransferFailure(outcome) }
            // If a delivery has arrived meanwhile, the list is wanted again, and this state is kept.
            if listing == .asked { listing = .done }
        }

        /// Asks for the rest of a list that exceeded the budget, once everything listed before is received and settled.
        mutating func goOnListing() {
            guard case .paused(let before) = listing, isQuiet, underWay.isEmpty, failure == nil else { return }
            if budget.held < before { listing = .wanted } else { failure = .tooManyDeliveries }
        }
    }

    let context: RequestContext
    let destination: PullDirectory
    let options: ReceiveOptions
    let events: EventQueue<ReceiveEvent>
    let pull: PullPlan
    let reader: NoteReader
    let state = Locked(State())
    private let senders: Set<PathKey>
    private let notes: [ReceivedNote]
    /// A delivery has two files if it was received once without its note and once with it.
    private let noted: [UploadID: [ReceivedFile]]

    /// Reads the notes of earlier runs.
    init(
        _ context: RequestContext, _ destination: PullDirectory, _ options: ReceiveOptions,
        _ events: EventQueue<ReceiveEvent>
    ) {
        (self.context, self.destination, self.options, self.events) = (context, destination, options, events)
        senders = Set(options.senders.map { PathKey($0) })
        notes = destination.notes()
        noted = Dictionary(grouping: notes.flatMap(\.files), by: \.id)
        reader = NoteReader(
            context.configuration.sealing, by: .person { events.send(.met(name: $0, fingerprint: $1)) })
        state.withLock { $0.budget = ListBudget(context.configuration.listMemory) }
        let audience = ReceiveAudience(events)
        pull = PullPlan(context, [], .directory(destination), audience)
        audience.plan.withLock { $0 = WeakPlan(plan: self) }
    }

    /// The reason why not everything was received; nil if everything was.
    var failure: TransferFailure? { state.withLock { $0.failure } }

    func resume() {
        let news = state.withLock { $0.news }
        news?()
        pull.resume()
    }

    /// Removes notes of deliveries that the server knows as received or no longer has. Called at the end.
    func tidy() {
        let (open, left) = state.withLock { state in
            let told = state.batches.filter { $0.note == nil }.flatMap(\.arrivals)
            return (state.listing == .done ? state.open : nil, state.waiting + told)
        }
        // These deliveries are durable here, but the run was stopped before the server accepted the report on them.
        for first in stride(from: 0, to: left.count, by: PullDirectory.mostNoted) {
            let some = left[first..<min(first + PullDirectory.mostNoted, left.count)]
            _ = destination.note(some.filter { !$0.isNoted }.compactMap(\.file))
        }
        if let open {
            for note in notes where !note.files.contains(where: { open.contains($0.id) }) {
                destination.forget(note.name)
            }
        }
        destination.tidy()
    }

    // MARK: RequestPlan

    func makeSource(isFirst: Bool) -> any RequestSource {
        if isFirst {
            state.withLock { state in
                switch state.listing {
                case .paused: break
                case .done where !options.watches: break
                default: state.listing = .wanted
                }
            }
        }
        return ReceiveLane(self, isFirst: isFirst)
    }

    var wantsLane: Bool { pull.wantsLane }

    func connect(_ news: @escaping @Sendable () -> Void) {
        state.withLock { $0.news = news }
        pull.connect(news)
    }

    func letGo() {
        state.withLock { $0.news = nil }
        pull.letGo()
    }

    func connected() { events.send(.connected(server: context.server.description)) }

    func reconnecting(reason: String, after seconds: Double) {
        events.send(.reconnecting(reason: reason, after: seconds))
    }
}

// MARK: Listing and choosing

extension ReceivePlan {
    func take(_ deliveries: [Delivery]) -> Taken {
        var items: [PullPlan.Item] = []
        for delivery in deliveries {
            let isNew = state.withLock { state in
                guard state.wantsMore, delivery.number > state.last else { return false }
                guard state.budget.holds(delivery.heldBytes) else {
                    state.listing = .overdrawn(held: state.budget.held)
                    return false
                }
                state.last = delivery.number
                guard state.open.insert(delivery.id).inserted else {
                    // Two deliveries have this id: the receipt for one of them would cover the content of the other.
                    state.failure = state.failure ?? .oneIDForTwo(delivery)
                    return false
                }
                return true
            }
            guard isNew else { continue }
            guard senders.isEmpty || senders.contains(PathKey(delivery.person)) else {
                state.withLock { $0.setAside(delivery) }
                continue
            }
            let delivery = reader.read(delivery)
            events.send(.found(delivery))
            if options.choose == nil { items += begin(delivery, as: nil) } else { ask(about: delivery) }
        }
        pull.add(items)
        return state.withLock { $0.wantsMore } ? .wanted : .unwanted
    }

    func listed(_ outcome: Outcome?) {
        state.withLock { $0.listed(outcome) }
        resume()
    }

    private func ask(about delivery: Delivery) {
        let isFirst = state.withLock { state in
            state.questions.append(delivery)
            defer { state.isChoosing = true }
            return !state.isChoosing
        }
        guard isFirst else { return }
        Task(executorPreference: context.loop) { await self.choose() }
    }

    /// Asks the user about one delivery after the other.
    private func choose() async {
        guard let choose = options.choose else { return }
        while let delivery = state.withLock({ $0.questions.isEmpty ? nil : $0.questions.removeFirst() }) {
            let choice = await choose(delivery)
            await context.pool.run { self.chosen(choice, delivery) }
        }
        let isOver = state.withLock { state in
            state.isChoosing = !state.questions.isEmpty
            return !state.isChoosing
        }
        if isOver { resume() } else { await self.choose() }
    }

    private func chosen(_ choice: ReceiveOptions.Choice, _ delivery: Delivery) {
        switch choice {
        case .take: pull.add(begin(delivery, as: nil))
        case .takeAs(let name): pull.add(begin(delivery, as: name))
        case .leave: state.withLock { $0.setAside(delivery) }
        case .decline:
            // An earlier run may have been killed while it fetched this delivery.
            destination.removePart(of: delivery.id)
            state.withLock { $0.declined.append(delivery) }
        }
        keep()
        resume()
    }

    /// - Parameter name: the name to store it under; nil for the sender's name.
    /// - Returns: the items to fetch.
    private func begin(_ delivery: Delivery, as name: String?) -> [PullPlan.Item] {
        if options.opens, delivery.isSealed, delivery.opened == nil {
            let failure = delivery.closed ?? .noSealingKey
            leave(delivery, ReceiveReport(delivery, failure.code, failure.message))
            return []
        }
        let target: RelativePath
        do throws(RelativePath.Fault) {
            target = try RelativePath(name ?? visible(self.name(of: delivery)))
        } catch {
            let advice = name == nil ? " Receive it under another name." : ""
            leave(delivery, ReceiveReport(delivery, .invalidPath, error.message + advice))
            return []
        }
        let isHere = { (file: ReceivedFile) in
            self.mayBe(file, delivery) && (name == nil || file.path == target) && self.destination.isUnchanged(file)
        }
        if let file = noted[delivery.id]?.first(where: isHere),
            let arrival = Arrival(delivery, PullReport(file, delivery), isNoted: true)
        {
            arrived(arrival)
            return []
        }
        state.withLock { $0.underWay[delivery.id] = delivery }
        return [.file(file(delivery, target, isChosen: name != nil))]
    }

    func visible(_ name: String) -> String {
        guard !options.takesHiddenNames else { return name }
        let dot = UInt8(ascii: "."), slash = UInt8(ascii: "/")
        var bytes = Array(name.utf8)
        for index in bytes.indices where bytes[index] == dot && (index == 0 || bytes[index - 1] == slash) {
            // A component that consists of dots only is no file name, and stays invalid.
            let rest = bytes[(index + 1)...].prefix { $0 != slash }
            if !rest.isEmpty, rest.contains(where: { $0 != dot }) { bytes[index] = UInt8(ascii: "_") }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: Stored deliveries

extension ReceivePlan {
    /// Takes the outcome of fetching a delivery.
    func fetched(_ report: PullReport) {
        guard let id = report.delivery, let delivery = state.withLock({ $0.underWay.removeValue(forKey: id) }) else {
            return
        }
        guard report.result == .committed || report.result == .alreadyStored else {
            return leave(delivery, ReceiveReport(delivery, report, delivery.state))
        }
        guard let arrival = Arrival(delivery, report) else {
            let failure = Failure.otherThanListed
            return leave(delivery, ReceiveReport(delivery, failure.code, failure.message))
        }
        arrived(arrival)
    }

    /// Reports a delivery that stays on the server. It wakes the first connection, which may be waiting for memory to
    /// list more.
    private func leave(_ delivery: Delivery, _ report: ReceiveReport) {
        let news = state.withLock { state in
            state.setAside(delivery)
            if case .paused = state.listing { return state.news }
            return nil
        }
        events.send(.finished(report))
        news?()
    }

    private func arrived(_ arrival: Arrival) {
        let news = state.withLock { state in
            state.waiting.append(arrival)
            // Only the first delivery and every full batch wake a connection; the deliveries between them go with the
            // next batch.
            let isNews = options.keeps || state.waiting.count == 1
            return isNews || state.waiting.count % SettleRequest.mostDeliveries == 0 ? state.news : nil
        }
        news?()
    }

    /// Notes stored deliveries on disk if `ReceiveOptions.keeps` says not to report them to the server.
    func keep() {
        guard options.keeps else { return }
        while true {
            let arrivals = state.withLock { state in
                let first = Array(state.waiting.prefix(PullDirectory.mostNoted))
                state.waiting.removeFirst(first.count)
                return first
            }
            guard !arrivals.isEmpty else { return }
            _ = destination.note(arrivals.filter { !$0.isNoted }.compactMap(\.file))
            state.withLock { state in for arrival in arrivals { state.setAside(arrival.delivery) } }
            for arrival in arrivals { events.send(.finished(arrival.report(arrival.delivery.state))) }
        }
    }
}

extension TransferFailure {
    /// The failure if deliveries that stay on the server use up the memory for lists.
    static let tooManyDeliveries = TransferFailure(
        reason: .rejected(.incomplete),
        message:
            "The server lists more deliveries than this program holds in memory. Those that it has "
            + "read still wait on the server, and it has not read the rest. Receive or decline some, and "
            + "run the command again.")

    /// - Parameter delivery: a delivery with the id of one that was listed before and not reported on.
    fileprivate static func oneIDForTwo(_ delivery: Delivery) -> TransferFailure {
        TransferFailure(
            reason: .protocolFault,
            message: "The server lists two deliveries with the id \(delivery.id). The second one, "
                + "\(delivery.shownName), is not received. If the server is not yours, ask its operator; its "
                + "lists cannot be trusted.")
    }
}

extension PullReport {
    /// The report of a delivery that was received before.
    fileprivate init(_ file: ReceivedFile, _ delivery: Delivery) {
        self.init(
            source: delivery.shownName, result: .alreadyStored, path: file.path.string, size: file.version.size,
            digest: file.digest)
        (version, self.delivery, travelled, isOpened) = (file.version, file.id, file.travelled, file.isOpened)
    }
}

extension Delivery {
    /// Roughly the bytes of memory that the delivery takes while it is listed and not settled.
    var heldBytes: UInt64 {
        ListBudget.bytes(path: name.utf8.count + person.utf8.count + (note?.count ?? 0) + (receipt?.count ?? 0), nil)
    }
}

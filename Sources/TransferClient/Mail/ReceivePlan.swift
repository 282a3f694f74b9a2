import TransferIO
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferPorts
import TransferStore
import TransferSystem

/// What waits in a mailbox on its way to a directory: looks what there is, has it fetched as files are pulled, and tells the
/// server what has become durable.
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

        /// The question who this client is, and its answer.
        var naming = Step.wanted
        var name: String?
        /// The server of the first connection, and whether all connections led to it.
        var server: ProvenServer?
        var isOneServer = true
        /// The one that receipts name.
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
        /// Deliveries that the server has and was told nothing about.
        var open: Set<UploadID> = []
        /// Memory that these take.
        var budget = ListBudget()

        /// To be chosen about, one after the other.
        var questions: [Delivery] = []
        var isChoosing = false

        /// Being fetched.
        var underWay: [UploadID: Delivery] = [:]
        var waiting: [Arrival] = []
        var declined: [Delivery] = []
        /// The server is to be told again.
        var batches: [SettleBatch] = []
        /// How many batches the server was told of and has not answered.
        var settling = 0

        var failure: TransferFailure?
        var news: (@Sendable () -> Void)?

        /// Whether the user has answered all questions, and the server has answered all settlements.
        var isQuiet: Bool {
            !isChoosing && questions.isEmpty && waiting.isEmpty && declined.isEmpty && batches.isEmpty && settling == 0
                && naming != .asked
        }

        /// Whether the rest of a list is of use.
        var wantsMore: Bool {
            if case .overdrawn = listing { false } else { failure == nil }
        }

        /// Gives back the memory of a delivery that stays on the server, but for its id.
        mutating func setAside(_ delivery: Delivery) { budget.release(delivery.heldBytes - ListBudget.nameBytes) }

        /// - Parameter outcome: of the list; nil if the connection was lost before.
        mutating func listed(_ outcome: Outcome?) {
            if case .overdrawn(let held) = listing { return listing = .paused(held: held) }
            guard let outcome else { return listing = .wanted }
            // A list that has failed does not say what the server has no more.
            guard outcome.code == .completed else { return failure = failure ?? TransferFailure(outcome) }
            // Something may have arrived meanwhile.
            if listing == .asked { listing = .done }
        }

        /// Asks for the rest of a list that was longer than the budget, when all that came of it is received and settled.
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

    /// Reads what earlier ones have noted.
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

    /// Why not all was answered.
    var failure: TransferFailure? { state.withLock { $0.failure } }

    func resume() {
        let news = state.withLock { $0.news }
        news?()
        pull.resume()
    }

    /// Removes notes of what the server has been told, or doesn't have any more. To be called at the end.
    func tidy() {
        let (open, left) = state.withLock { state in
            let told = state.batches.filter { $0.note == nil }.flatMap(\.arrivals)
            return (state.listing == .done ? state.open : nil, state.waiting + told)
        }
        // It was stopped before the server knew of these.
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

// MARK: What waits

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
                    // What has come for one would be signed for as the other.
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

    /// One after the other, as people are asked.
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
            // An earlier one may have been fetching it when it was killed.
            destination.removePart(of: delivery.id)
            state.withLock { $0.declined.append(delivery) }
        }
        keep()
        resume()
    }

    /// - Parameter name: the one to have here; nothing for its sender's.
    /// - Returns: what is to be fetched for it.
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
            let advice = name == nil ? " It can be received under another name." : ""
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
            // What leads elsewhere is no name that could be made visible.
            let rest = bytes[(index + 1)...].prefix { $0 != slash }
            if !rest.isEmpty, rest.contains(where: { $0 != dot }) { bytes[index] = UInt8(ascii: "_") }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: What is here

extension ReceivePlan {
    /// A delivery was fetched, or not.
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

    /// Reports a delivery that stays on the server. The first connection, which asks for lists, may wait for that.
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
            // Those between the first and a whole batch are taken along with it.
            let isNews = options.keeps || state.waiting.count == 1
            return isNews || state.waiting.count % SettleRequest.mostDeliveries == 0 ? state.news : nil
        }
        news?()
    }

    /// Notes what is here, where the server is not to be told.
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
    /// The budget for lists is used up by deliveries that stay on the server.
    static let tooManyDeliveries = TransferFailure(
        reason: .rejected(.incomplete),
        message:
            "The server lists more deliveries than this program holds in memory, and those that it has looked at still wait there. "
            + "The rest was not looked at. Receive or decline some, and run the command again.")

    /// - Parameter delivery: has the id of one that was listed before, and that the server was told nothing about.
    fileprivate static func oneIDForTwo(_ delivery: Delivery) -> TransferFailure {
        TransferFailure(
            reason: .protocolFault,
            message: "The server lists two deliveries with the id \(delivery.id). The second one, "
                + "\(delivery.shownName), is not received. If the server is not yours, ask who runs it; what it says cannot be "
                + "trusted.")
    }
}

extension PullReport {
    /// For what was received before.
    fileprivate init(_ file: ReceivedFile, _ delivery: Delivery) {
        self.init(
            source: delivery.shownName, result: .alreadyStored, path: file.path.string, size: file.version.size,
            digest: file.digest)
        (version, self.delivery, travelled, isOpened) = (file.version, file.id, file.travelled, file.isOpened)
    }
}

extension Delivery {
    /// About as much memory as it takes while it is open.
    var heldBytes: UInt64 {
        ListBudget.bytes(path: name.utf8.count + person.utf8.count + (note?.count ?? 0) + (receipt?.count ?? 0), nil)
    }
}

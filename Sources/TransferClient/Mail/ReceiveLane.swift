import TransferModel
import TransferProtocol
import TransferReceipts
import TransferPorts
import TransferStore
import TransferSystem

/// The requests and reports of one connection of a receiving client. Only the first connection lists what waits.
final class ReceiveLane: RequestSource {
    private let plan: ReceivePlan
    private let isFirst: Bool
    private let files: PullLane

    init(_ plan: ReceivePlan, isFirst: Bool) {
        (self.plan, self.isFirst) = (plan, isFirst)
        files = PullLane(plan.pull, plan.destination)
    }

    var needs: Features { .mail }

    func welcomed(_ welcome: Welcome, by server: ProvenServer) {
        plan.reader.connected(server)
        plan.state.withLock { state in
            // Receipts name no server if the connections have led to different servers.
            let first = state.server ?? server
            state.isOneServer = state.isOneServer && first.fingerprint == server.fingerprint
            (state.server, state.serverKey) = (first, state.isOneServer ? server.receiptKey : nil)
        }
    }

    func arrived(_ number: UInt64) {
        plan.state.withLock { state in
            switch state.listing {
            case .overdrawn, .paused: break
            default: state.listing = .wanted
            }
        }
    }

    func next(_ count: Int, _ bytes: Int) -> [PendingRequest] {
        var next: [PendingRequest] = []
        var room = bytes
        while next.count < count, let asked = plan.question(room, isFirst: isFirst) {
            room -= asked.request.cost
            next.append(asked)
        }
        return next + files.next(count - next.count, room)
    }

    func settle() {
        files.settle()
        plan.keep()
    }

    var isOver: Bool { isFirst ? plan.isOver : plan.pull.isOver && !plan.hasBatch }

    func mayRead(_ next: Request?) -> Bool { files.mayRead(next) }
}

extension ReceivePlan {
    var isOver: Bool {
        // Read `pull` first: what it has fetched moves into `state`, and would be missed in the other order.
        let isFetched = pull.isOver
        return state.withLock { state in
            state.isQuiet && isFetched && (state.failure != nil || state.listing == .done && !options.watches)
        }
    }

    /// The next request other than for content, if any.
    ///
    /// - Parameter room: the most bytes that the request may cost (`Request.cost`).
    fileprivate func question(_ room: Int, isFirst: Bool) -> PendingRequest? {
        let mostSettled = Request.fixedCost + 16 * SettleRequest.mostDeliveries
        guard room >= mostSettled else { return nil }
        enum Next { case name, list(UInt64), settle }
        let next = state.withLock { state -> Next? in
            if isFirst, state.naming == .wanted, !options.keeps, context.configuration.key != nil {
                state.naming = .asked
                return .name
            }
            if isFirst { state.goOnListing() }
            if isFirst, state.listing == .wanted, state.failure == nil {
                state.listing = .asked
                return .list(state.last)
            }
            guard hasBatch(state) else { return nil }
            state.settling += 1
            return .settle
        }
        switch next {
        case nil: return nil
        case .name: return name.asked
        case .list(let last):
            let request = MailRequest(id: 0, .inbox, after: last, watches: options.watches)
            return MailTaker(request, taken: { self.take($0) }, ended: { self.listed($0) }).asked
        case .settle: return settlement()
        }
    }

    /// Whether to report a batch now: one of any size if no batch is unanswered, otherwise only a full one. The next
    /// batch fills while another is under way, so batches are as large as possible.
    private func hasBatch(_ state: State) -> Bool {
        guard state.naming != .asked else { return false }
        guard state.settling > 0 else {
            return !(state.batches.isEmpty && state.declined.isEmpty && (state.waiting.isEmpty || options.keeps))
        }
        return state.settling < Self.mostSettling && !options.keeps
            && state.waiting.count >= SettleRequest.mostDeliveries
    }

    fileprivate var hasBatch: Bool { state.withLock { hasBatch($0) } }

    private static let mostSettling = 4

    private var name: PeopleTaker {
        PeopleTaker(
            isAboutItself: true, ListBudget(context.configuration.listMemory),
            ended: { [self] found in
                state.withLock { state in
                    (state.naming, state.name) = (.done, (try? found.get())?.first?.name)
                }
                resume()
            },
            lost: { [self] in state.withLock { $0.naming = .wanted } })
    }

    private var signer: DeliverySigner? {
        let (name, serverKey) = state.withLock { ($0.name, $0.serverKey) }
        guard let key = context.configuration.key, let name else { return nil }
        return DeliverySigner(key: key, name: name, server: serverKey)
    }

    /// The request that reports the next batch; nil if no batch waits after all.
    private func settlement() -> PendingRequest? {
        guard let batch = takeBatch() else {
            state.withLock { $0.settling -= 1 }
            return nil
        }
        return SettleTaker(batch.settlement) { self.settled(batch, $0) }.asked
    }

    /// Takes the next batch to report. Deliveries are noted on disk first: if the answer is lost, they are reported
    /// again, and not fetched again.
    private func takeBatch() -> SettleBatch? {
        let signer = signer
        let (old, arrivals, declined) = state.withLock { state -> (SettleBatch?, [Arrival], [Delivery]) in
            guard state.batches.isEmpty else { return (state.batches.removeFirst(), [], []) }
            let count = Settlement.batch(state.waiting.lazy.map(\.delivery), signer)
            let arrivals = Array(state.waiting.prefix(options.keeps ? 0 : count))
            state.waiting.removeFirst(arrivals.count)
            guard arrivals.isEmpty else { return (nil, arrivals, []) }
            let declined = Array(state.declined.prefix(SettleRequest.mostDeliveries))
            state.declined.removeFirst(declined.count)
            return (nil, [], declined)
        }
        if let old { return old }
        guard arrivals.isEmpty else {
            let note = destination.note(arrivals.filter { !$0.isNoted }.compactMap(\.file))
            return SettleBatch(
                settlement: Settlement(delivered: arrivals.map(\.verified), signer), arrivals: arrivals, note: note)
        }
        guard !declined.isEmpty else { return nil }
        return SettleBatch(settlement: Settlement(declined: declined), arrivals: [])
    }

    /// - Parameter outcome: the server's answer; nil if the connection was lost, after which the batch is sent again.
    private func settled(_ batch: SettleBatch, _ outcome: Outcome?) {
        var batch = batch
        guard let outcome else { return again([batch]) }
        guard outcome.code != .completed else { return conclude(batch, nil) }
        if outcome.code == .forbidden, batch.settlement.signature != nil {
            batch.settlement = batch.settlement.unsigned
            return again([batch])
        }
        batch.attempts += 1
        if outcome.code.isRetryable, batch.attempts <= context.configuration.retries { return again([batch]) }
        // Divide the batch, which the server accepts completely or not at all, so that one missing delivery does not
        // block the others.
        if !outcome.code.isRetryable, batch.settlement.deliveries.count > 1 { return again(halves(batch)) }
        conclude(batch, outcome)
    }

    private func halves(_ batch: SettleBatch) -> [SettleBatch] {
        let halves = batch.halves(signer).map { half in
            var half = half
            half.note = destination.note(half.arrivals.filter { !$0.isNoted }.compactMap(\.file))
            return half
        }
        if let note = batch.note { destination.forget(note) }
        return halves
    }

    private func again(_ batches: [SettleBatch]) {
        state.withLock { state in
            state.batches = batches + state.batches
            state.settling -= 1
        }
        resume()
    }

    /// - Parameter failure: why the server did not accept the batch; nil if it did.
    private func conclude(_ batch: SettleBatch, _ failure: Outcome?) {
        let state: DeliveryState = batch.settlement.verdict == .delivered ? .delivered : .declined
        for arrival in batch.arrivals {
            let known = failure == nil ? state : arrival.delivery.state
            events.send(.finished(arrival.report(known, failure: failure)))
        }
        for delivery in batch.settlement.deliveries where state == .declined {
            var report = ReceiveReport(delivery, failure?.code ?? .completed, failure?.message ?? "")
            if failure == nil { report.state = .declined }
            events.send(.finished(report))
        }
        // A batch that was not accepted keeps its note, so that the next run reports it again.
        if failure == nil, let note = batch.note { destination.forget(note) }
        self.state.withLock { state in
            for delivery in batch.settlement.deliveries {
                if failure != nil {
                    state.setAside(delivery)
                } else if state.open.remove(delivery.id) != nil {
                    state.budget.release(delivery.heldBytes)
                }
            }
            state.settling -= 1
        }
        resume()
    }
}

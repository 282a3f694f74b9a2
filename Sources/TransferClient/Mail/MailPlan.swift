import TransferModel
import TransferProtocol
import TransferSystem

/// Asks what is in a mailbox, and again whenever there is something new in it.
final class MailPlan: RequestPlan {
    fileprivate struct State {
        var isWanted = true
        var isAsked = false
        /// The largest number that was told.
        var last: UInt64
        /// What was told of deliveries that can change, by their numbers.
        var open: [UInt64: DeliveryState] = [:]
        /// How many deliveries `open` has at most.
        let mostOpen: Int
        var failure: TransferFailure?
        var news: (@Sendable () -> Void)?

        /// Deliveries up to here need not be told again. Of what was sent, those that can change are behind it.
        func done(_ box: MailRequest.Box) -> UInt64 {
            guard box == .sent, let first = open.keys.min() else { return last }
            return first - min(first, 1)
        }

        /// - Returns: whether it says something new.
        mutating func take(_ delivery: Delivery) -> Bool {
            let isNew = delivery.number > last
            guard isNew || open[delivery.number].map({ $0 != delivery.state }) ?? false else { return false }
            last = max(last, delivery.number)
            open[delivery.number] = delivery.state.isOpen ? delivery.state : nil
            guard open.count <= mostOpen else {
                failure = .tooManyDeliveries
                return false
            }
            return true
        }
    }

    private let context: RequestContext
    private let box: MailRequest.Box
    private let after: UInt64
    private let watches: Bool
    private let wantsReceipts: Bool
    private let senders: Set<PathKey>
    private let reader: NoteReader
    private let isFull: @Sendable () -> Bool
    private let tell: @Sendable (MailNews) -> Void
    private let state: Locked<State>

    /// - Parameters:
    ///   - after: only deliveries with larger numbers are wanted.
    ///   - people: whose deliveries are wanted; all if there is none.
    ///   - watches: whether it goes on until it is stopped.
    ///   - isFull: whether those who are told are behind.
    ///   - tell: called on the pool.
    init(
        _ context: RequestContext, _ box: MailRequest.Box, after: UInt64, people: [String], watches: Bool,
        wantsReceipts: Bool, isFull: @escaping @Sendable () -> Bool, tell: @escaping @Sendable (MailNews) -> Void
    ) {
        (self.context, self.box, self.watches, self.wantsReceipts) = (context, box, watches, wantsReceipts)
        self.after = after
        (senders, self.isFull, self.tell) = (Set(people.map { PathKey($0) }), isFull, tell)
        reader = NoteReader(context.configuration.sealing, by: box == .sent ? .oneself : .personInPassing)
        state = Locked(State(last: after, mostOpen: ListBudget.entries(in: context.configuration.listMemory)))
    }

    /// Why not all was answered.
    var failure: TransferFailure? { state.withLock { $0.failure } }

    func resume() {
        let news = state.withLock { $0.news }
        news?()
    }

    private func take(_ deliveries: [Delivery]) -> Taken {
        for delivery in deliveries {
            guard state.withLock({ $0.failure == nil && $0.take(delivery) }) else { continue }
            guard senders.isEmpty || senders.contains(PathKey(delivery.person)) else { continue }
            tell(.delivery(reader.read(delivery)))
        }
        return state.withLock { $0.failure == nil } ? .wanted : .unwanted
    }

    private func ended(_ outcome: Outcome?) {
        state.withLock { state in
            state.isAsked = false
            guard let outcome else { return state.isWanted = true }
            if outcome.code != .completed { state.failure = state.failure ?? TransferFailure(outcome) }
        }
        if outcome?.code == .completed { tell(.listed) }
        resume()
    }

    // MARK: RequestPlan

    func makeSource(isFirst: Bool) -> any RequestSource {
        // Another connection has to be told that there is somebody who waits.
        if watches { state.withLock { $0.isWanted = true } }
        return self
    }

    var wantsLane: Bool { false }

    func connect(_ news: @escaping @Sendable () -> Void) {
        state.withLock { $0.news = news }
    }

    func letGo() { state.withLock { $0.news = nil } }

    func connected() {}

    func reconnecting(reason: String, after seconds: Double) {}
}

extension MailPlan: RequestSource {
    var needs: Features { .mail }

    func welcomed(_ welcome: Welcome, by server: ProvenServer) { reader.connected(server) }

    func next(_ count: Int, _ bytes: Int) -> [PendingRequest] {
        let request = state.withLock { state -> MailRequest? in
            guard state.isWanted, !state.isAsked, count > 0, bytes >= Request.fixedCost else { return nil }
            defer { (state.isWanted, state.isAsked) = (false, true) }
            return MailRequest(
                id: 0, box, after: state.done(box), watches: watches, wantsReceipts: wantsReceipts)
        }
        guard let request else { return [] }
        let taker = MailTaker(request, taken: { self.take($0) }, ended: { self.ended($0) })
        return [taker.asked]
    }

    func settle() {}

    var isOver: Bool {
        state.withLock { state in state.failure != nil || !watches && !state.isWanted && !state.isAsked }
    }

    func mayRead(_ next: Request?) -> Bool { !isFull() }

    /// Numbers only grow, unless the server was given back what it had some time ago. Then what it has now is asked about anew.
    func arrived(_ number: UInt64) {
        state.withLock { state in
            if number < state.last { (state.last, state.open) = (after, [:]) }
            state.isWanted = true
        }
    }
}

/// What comes of a question for a mailbox.
package enum MailNews: Sendable {
    /// One that is new, or has changed.
    case delivery(Delivery)
    /// All that there was, was told.
    case listed
}

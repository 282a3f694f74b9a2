import TransferModel
import TransferProtocol
import TransferSystem

/// Lists a mailbox, and lists it again when the server announces something new.
final class MailPlan: RequestPlan {
    fileprivate struct State {
        var isWanted = true
        var isAsked = false
        /// The largest number that was reported.
        var last: UInt64
        /// The reported states of deliveries that can still change, by their numbers.
        var open: [UInt64: DeliveryState] = [:]
        /// The most deliveries in `open`.
        let mostOpen: Int
        var failure: TransferFailure?
        var news: (@Sendable () -> Void)?

        /// The number up to which the server need not list deliveries again. Sent deliveries that can still change have
        /// larger numbers.
        func done(_ box: MailRequest.Box) -> UInt64 {
            guard box == .sent, let first = open.keys.min() else { return last }
            return first - min(first, 1)
        }

        /// - Returns: whether the delivery is new or has changed.
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
    ///   - people: the people whose deliveries are wanted; empty for all.
    ///   - watches: whether the plan goes on after the first list, until it is cancelled.
    ///   - isFull: whether the consumer is behind.
    ///   - tell: receives the news, on the pool.
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

    /// The reason why the list is incomplete; nil if it is complete.
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
        // Ask again on a new connection, so that the server knows that this client waits.
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

    /// Lists the mailbox again. If the number is smaller than one that was listed, the server was restored from a
    /// backup; then the list starts again from the beginning.
    func arrived(_ number: UInt64) {
        state.withLock { state in
            if number < state.last { (state.last, state.open) = (after, [:]) }
            state.isWanted = true
        }
    }
}

/// An answer to the question what a mailbox contains.
package enum MailNews: Sendable {
    /// A delivery that is new or has changed.
    case delivery(Delivery)
    /// All deliveries that existed were reported.
    case listed
}

import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// Keeps mail in memory. Each call is one transaction under the lock of the mailboxes. Calls fail only after `close`.
/// Each call computes the totals again.
package final class MemoryMail: MailRecords {
    private let mailboxes: MemoryMailboxes
    private let clock: @Sendable () -> Int64
    /// The time of the records' clock at the moment `opened` of `clock`.
    private let base: Int64
    private let opened: Int64
    private let isClosed = Atomic(false)

    /// - Parameters:
    ///   - mailboxes: the state that earlier records have left.
    ///   - clock: nanoseconds of a monotonic clock.
    package init(_ mailboxes: MemoryMailboxes, clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds) {
        (self.mailboxes, self.clock, opened) = (mailboxes, clock, clock())
        base = mailboxes.state.withLock { $0.now }
    }

    /// The records' clock: nanoseconds for which the mailboxes have been open so far, over all servers. It measures the
    /// ages of mails and deliveries.
    private var now: Int64 { base &+ max(0, clock() &- opened) }

    /// Runs `body` as one transaction.
    ///
    /// - Throws: `unavailable` after `close`.
    private func transaction<T: Sendable>(
        _ body: (inout MemoryMailboxes.State) -> T
    ) throws(RecordsError) -> T {
        try mailboxes.state.withLock { (state) throws(RecordsError) in
            guard !isClosed.load(ordering: .relaxed) else {
                throw RecordsError(.unavailable, "The mailboxes are closed: the server has stopped.")
            }
            return body(&state)
        }
    }

    package func close() {
        mailboxes.state.withLock { state in
            guard !isClosed.load(ordering: .relaxed) else { return }
            state.now = now
            isClosed.store(true, ordering: .relaxed)
        }
    }
}

// MARK: Waiting mail

extension MemoryMail {
    package func waiting(for recipient: String?) -> (count: Int, bytes: UInt64) {
        mailboxes.state.withLock { $0.waiting(for: recipient) }
    }

    package func refusal(
        _ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits
    ) -> MailRefusal? {
        mailboxes.state.withLock { $0.refusal(size, from: sender, to: recipient, limits) }
    }

    package func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail] {
        try transaction { state in
            mails.map { state.queue($0.mail, to: $0.recipients, limits, at: now, isThere: isThere) }
        }
    }

    package func deliveries(of id: UploadID) throws(RecordsError) -> [Delivery] {
        try transaction { $0.deliveries(of: id) }
    }

    package func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(RecordsError) -> [Delivery] {
        try transaction { state in
            state.all(after: number, limit: limit) { delivery, _ in
                (withEnded || delivery.state.isOpen) && delivery.recipient.hasSameBytes(as: recipient)
            }
        }
    }

    package func sent(by sender: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery] {
        try transaction { state in
            state.all(after: number, limit: limit) { _, mail in mail.sender.hasSameBytes(as: sender) }
        }
    }

    package func delivery(of id: UploadID, to recipient: String) throws(RecordsError) -> Delivery? {
        try transaction { $0.delivery(of: id, to: recipient) }
    }

    package func deliveries(of ids: [UploadID], to recipient: String) throws(RecordsError) -> [Delivery] {
        try transaction { state in ids.compactMap { state.delivery(of: $0, to: recipient) } }
    }

    package func newestNumber() throws(RecordsError) -> UInt64 { try transaction { $0.lastNumber } }

    package func open(from client: UInt64) throws(RecordsError) -> (count: Int, bytes: UInt64) {
        try transaction { state in
            let costs = state.mails.values.filter { $0.mail.client == client && state.isOpen($0.mail.id) }
                .map(\.mail.cost)
            return (costs.count, costs.reduce(0) { $0.addingClamped($1) })
        }
    }

    package func openPaths() throws(RecordsError) -> Set<RelativePath> {
        try transaction { state in
            let open = Set(state.deliveries.lazy.filter(\.state.isOpen).map(\.id))
            return Set(open.compactMap { state.mails[$0]?.mail.path })
        }
    }
}

// MARK: Changes of deliveries

extension MemoryMail {
    package func fetched(_ deliveries: [Delivery], at moment: Int64) throws(RecordsError) -> [Delivery] {
        try transaction { state in
            deliveries.filter { delivery in
                guard delivery.state == .queued, let index = state.index(of: delivery.number),
                    state.deliveries[index].state == .queued
                else { return false }
                state.deliveries[index].state = .fetched
                state.deliveries[index].changed = moment
                state.deliveries[index].since = now
                return true
            }
        }
    }

    package func noteRotten(_ id: UploadID) throws(RecordsError) {
        try transaction { $0.mails[id]?.mail.isRotten = true }
    }

    package func settle(
        _ ids: [UploadID], by recipient: String, as newState: DeliveryState, at moment: Int64,
        receipts: (([Delivery]) -> [[UInt8]]?)?
    ) throws(RecordsError) -> SettledMail {
        try transaction { state in
            let found = ids.compactMap { state.delivery(of: $0, to: recipient) }
            guard found.count == ids.count else { return .notForYou }
            let signed = receipts.map { $0(found) ?? [] }
            if let signed, signed.count != found.count { return .badSignature }
            var ended = EndedDeliveries()
            // If the caller names an upload twice, its delivery ends once.
            var named: Set<UInt64> = []
            for (position, delivery) in found.enumerated() where named.insert(delivery.number).inserted {
                let receipt = signed?[position]
                let isNews = newState == .delivered ? delivery.state != .delivered : delivery.state.isOpen
                let isSigned = newState == .delivered && delivery.receipt == nil && receipt != nil
                if isNews || isSigned { state.end(delivery, as: newState, receipt, at: moment, now, &ended) }
            }
            return .ended(ended)
        }
    }

    package func expire(after age: Int64, at moment: Int64, limit: Int) throws(RecordsError) -> EndedDeliveries {
        try transaction { state in
            let end = now.subtractingClamped(age)
            let overdue = state.all(limit: limit) { delivery, mail in
                delivery.state.isOpen && delivery.since < end && state.mails[mail.id].map { $0.since < end } ?? false
            }
            var ended = EndedDeliveries()
            for delivery in overdue { state.end(delivery, as: .expired, nil, at: moment, now, &ended) }
            return ended
        }
    }

    package func forget(endedBefore age: Int64) throws(RecordsError) {
        try transaction { state in
            state.now = now
            state.forget(before: now.subtractingClamped(age))
        }
    }
}

extension Int64 {
    /// Subtracts an age, which can be any number. If the difference overflows, the moment is before or after all
    /// others.
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}

// MARK: People

extension MemoryMail {
    package func people() throws(RecordsError) -> [KnownPerson] {
        try transaction { state in state.people.sorted { $0.key < $1.key }.map(\.value.person) }
    }

    package func idlePeople(limit: Int) throws(RecordsError) -> [String] {
        try transaction { state in
            let recipients = Set(state.deliveries.map { PathKey($0.recipient) })
            let senders = Set(state.mails.values.map { PathKey($0.mail.sender) })
            let idle = state.people.filter { name, stored in
                stored.person.isUnproven && !recipients.contains(name) && !senders.contains(name)
            }
            let inOrder = idle.values.sorted { ($0.seen, $0.order) < ($1.seen, $1.order) }
            return inOrder.prefix(limit).map(\.person.name)
        }
    }

    package func forget(people names: [String]) throws(RecordsError) {
        try transaction { state in for name in names { state.people[PathKey(name)] = nil } }
    }

    package func keep(_ persons: [KnownPerson], at moment: Int64) throws(RecordsError) {
        try transaction { state in
            for person in persons {
                state.peopleKept += 1
                state.people[PathKey(person.name)] = MemoryMailboxes.StoredPerson(
                    person: person, seen: moment, order: state.peopleKept)
            }
        }
    }
}

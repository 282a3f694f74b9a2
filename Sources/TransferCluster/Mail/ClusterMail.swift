import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// The mailboxes of a cluster, in its database. Safe to use from any thread.
///
/// A change is decided from facts that were read, and applied if no other server has changed any mailbox meanwhile.
package final class ClusterMail: MailRecords {
    private let ledger: any ClusterLedger
    private let isClosed = Atomic(false)

    /// The most times that a change is decided again because another server has changed mailboxes.
    private static let mostAttempts = 32

    package init(_ ledger: any ClusterLedger) { self.ledger = ledger }

    private func ask<T>(_ body: () throws(LedgerError) -> T) throws(RecordsError) -> T {
        guard !isClosed.load(ordering: .relaxed) else {
            throw RecordsError(.unavailable, "The mailboxes are closed: the server has stopped.")
        }
        do throws(LedgerError) { return try body() } catch { throw RecordsError(ledger: error) }
    }

    /// Decides about mails until no other server interferes.
    ///
    /// - Parameter decide: collects changes; called once more after each conflict.
    private func settling<T>(
        _ ids: [UploadID], _ recipients: [String] = [], _ decide: (inout Mailboxes) -> T
    ) throws(RecordsError) -> T {
        try ask { () throws(LedgerError) in
            for _ in 0..<Self.mostAttempts {
                let term = ledger.term
                var mailboxes = Mailboxes(try ledger.mailFacts(ids, recipients))
                let result = decide(&mailboxes)
                do throws(LedgerError) {
                    try ledger.settle(mailboxes.changes, since: term)
                    return result
                } catch {
                    guard error.reason == .conflict else { throw error }
                }
            }
            throw LedgerError(.conflict, "Other servers change the mailboxes all the time; try again.")
        }
    }

    package func close() { isClosed.store(true, ordering: .relaxed) }
}

// MARK: Waiting mail

extension ClusterMail {
    package func waiting(for recipient: String?) -> (count: Int, bytes: UInt64) {
        (try? ledger.waiting(for: recipient)) ?? (0, 0)
    }

    package func refusal(
        _ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits
    ) -> MailRefusal? {
        do throws(LedgerError) {
            return Mailboxes(try ledger.mailFacts([], [recipient])).refusal(size, from: sender, to: recipient, limits)
        } catch {
            return .unavailable(error.message)
        }
    }

    package func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) throws(RecordsError) -> [QueuedMail] {
        try settling(mails.map(\.mail.id), mails.flatMap(\.recipients)) { mailboxes in
            mails.map { mailboxes.queue($0.mail, to: $0.recipients, limits, isThere: isThere) }
        }
    }

    package func deliveries(of id: UploadID) throws(RecordsError) -> [Delivery] {
        let facts = try ask { () throws(LedgerError) in
            let term = ledger.term
            let facts = try ledger.mailFacts([id], [])
            // The sender learns that the mail was delivered, perhaps by another server a moment ago.
            if facts.mails[id] != nil { try ledger.awaitDurability(of: term) }
            return facts
        }
        guard let mail = facts.mails[id]?.mail else { return [] }
        return facts.deliveries.filter { $0.id == id }.map { $0.delivery(of: mail) }
    }

    package func delivery(of id: UploadID, to recipient: String) throws(RecordsError) -> Delivery? {
        try deliveries(of: [id], to: recipient).first
    }

    package func deliveries(of ids: [UploadID], to recipient: String) throws(RecordsError) -> [Delivery] {
        let mailboxes = Mailboxes(try ask { () throws(LedgerError) in try ledger.mailFacts(ids, []) })
        return ids.compactMap { id in
            mailboxes.mail(id).flatMap { mailboxes.delivery(of: id, to: recipient)?.delivery(of: $0) }
        }
    }

    package func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(RecordsError) -> [Delivery] {
        try ask { () throws(LedgerError) in
            try ledger.inbox(of: recipient, after: number, limit: limit, withEnded: withEnded)
        }
    }

    package func sent(by sender: String, after number: UInt64, limit: Int) throws(RecordsError) -> [Delivery] {
        try ask { () throws(LedgerError) in
            let term = ledger.term
            let sent = try ledger.sent(by: sender, after: number, limit: limit)
            if sent.contains(where: { !$0.state.isOpen }) { try ledger.awaitDurability(of: term) }
            return sent
        }
    }

    package func newestNumber() throws(RecordsError) -> UInt64 {
        try ask { () throws(LedgerError) in try ledger.mailFacts([], []).lastNumber }
    }

    package func open(from client: UInt64) throws(RecordsError) -> (count: Int, bytes: UInt64) {
        let mails = try ask { () throws(LedgerError) in try ledger.openMails(from: client) }
        return (mails.count, mails.reduce(0) { $0.addingClamped($1.cost) })
    }

    package func openPaths() throws(RecordsError) -> Set<RelativePath> {
        Set(try ask { () throws(LedgerError) in try ledger.openMails(from: nil) }.map(\.path))
    }
}

// MARK: Changes of deliveries

extension ClusterMail {
    package func fetched(_ deliveries: [Delivery], at moment: Int64) throws(RecordsError) -> [Delivery] {
        let queued = deliveries.filter { $0.state == .queued }
        guard !queued.isEmpty else { return [] }
        return try settling(queued.map(\.mail.id)) { mailboxes in
            queued.filter { delivery in
                guard var row = mailboxes.delivery(of: delivery.mail.id, to: delivery.recipient),
                    row.number == delivery.number, row.state == .queued
                else { return false }
                (row.state, row.changed, row.since) = (.fetched, moment, mailboxes.facts.now)
                mailboxes.set(row)
                return true
            }
        }
    }

    package func noteRotten(_ id: UploadID) throws(RecordsError) {
        try settling([id]) { mailboxes in
            guard var mail = mailboxes.mail(id), !mail.isRotten else { return }
            mail.isRotten = true
            mailboxes.change(mail)
        }
    }

    package func settle(
        _ ids: [UploadID], by recipient: String, as newState: DeliveryState, at moment: Int64,
        receipts: (([Delivery]) -> [[UInt8]]?)?
    ) throws(RecordsError) -> SettledMail {
        try settling(ids) { mailboxes in
            let rows = ids.compactMap { mailboxes.delivery(of: $0, to: recipient) }
            let found = rows.compactMap { row in mailboxes.mail(row.id).map { row.delivery(of: $0) } }
            guard found.count == ids.count else { return .notForYou }
            let signed = receipts.map { $0(found) ?? [] }
            if let signed, signed.count != found.count { return .badSignature }
            var ended = EndedDeliveries()
            // If the caller names an upload twice, its delivery ends once.
            var named: Set<UInt64> = []
            for (position, row) in rows.enumerated() where named.insert(row.number).inserted {
                let receipt = signed?[position]
                let isNews = newState == .delivered ? row.state != .delivered : row.state.isOpen
                let isSigned = newState == .delivered && row.receipt == nil && receipt != nil
                if isNews || isSigned { mailboxes.end(row, as: newState, receipt, at: moment, &ended) }
            }
            return .ended(ended)
        }
    }

    package func expire(after age: Int64, at moment: Int64, limit: Int) throws(RecordsError) -> EndedDeliveries {
        let overdue = try ask { () throws(LedgerError) in try ledger.overdueMail(for: age, limit: limit) }
        guard !overdue.isEmpty else { return EndedDeliveries() }
        let numbers = Set(overdue.map(\.number))
        return try settling(Array(Set(overdue.map(\.id)))) { mailboxes in
            var ended = EndedDeliveries()
            for row in mailboxes.facts.deliveries where row.state.isOpen && numbers.contains(row.number) {
                mailboxes.end(row, as: .expired, nil, at: moment, &ended)
            }
            return ended
        }
    }

    package func forget(endedBefore age: Int64) throws(RecordsError) {
        try ask { () throws(LedgerError) in try ledger.forgetMail(endedFor: age) }
    }
}

// MARK: People

extension ClusterMail {
    package func people() throws(RecordsError) -> [KnownPerson] {
        try ask { () throws(LedgerError) in try ledger.people() }
    }

    package func idlePeople(limit: Int) throws(RecordsError) -> [String] {
        try ask { () throws(LedgerError) in try ledger.idlePeople(limit: limit) }
    }

    package func forget(people names: [String]) throws(RecordsError) {
        try ask { () throws(LedgerError) in try ledger.forget(people: names) }
    }

    package func keep(_ persons: [KnownPerson], at moment: Int64) throws(RecordsError) {
        try ask { () throws(LedgerError) in try ledger.keep(persons, at: moment) }
    }
}

package import TransferCluster
package import TransferModel
package import TransferPorts

extension ModelLedger {
    package func mailFacts(_ ids: [UploadID], _ recipients: [String]) throws(LedgerError) -> MailFacts {
        try run(.mailFacts) { rows, moment in
            var facts = MailFacts(revision: rows.mailRevision, lastNumber: rows.lastDelivery, now: moment)
            for id in ids { facts.mails[id] = rows.mails[id] }
            facts.deliveries = rows.ordered.filter { facts.mails[$0.id] != nil }
            for recipient in Set(recipients.map { PathKey($0) }) {
                facts.waiting += rows.waiting(for: recipient.string)
            }
            return facts
        }
    }

    package func apply(_ changes: MailChanges) throws(LedgerError) {
        try run(.applyMail) { (rows, _) throws(LedgerError) in
            try rows.check(changes)
            rows.make(changes)
        }
    }

    package func waiting(for recipient: String?) throws(LedgerError) -> (count: Int, bytes: UInt64) {
        try run(.waiting) { rows, _ in
            let open = rows.ordered.filter { row in
                row.state.isOpen && (recipient.map { row.recipient.hasSameBytes(as: $0) } ?? true)
            }
            return (open.count, open.reduce(0) { $0.addingClamped(rows.mails[$1.id]?.mail.size ?? 0) })
        }
    }

    package func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(LedgerError) -> [Delivery] {
        try run(.inbox) { rows, _ in
            rows.deliveries(after: number, limit) { row, _ in
                (withEnded || row.state.isOpen) && row.recipient.hasSameBytes(as: recipient)
            }
        }
    }

    package func sent(by sender: String, after number: UInt64, limit: Int) throws(LedgerError) -> [Delivery] {
        try run(.sent) { rows, _ in
            rows.deliveries(after: number, limit) { _, mail in mail.sender.hasSameBytes(as: sender) }
        }
    }

    package func openMails(from client: UInt64?) throws(LedgerError) -> [Mail] {
        try run(.openMails) { rows, _ in
            let open = Set(rows.deliveries.values.filter(\.state.isOpen).map(\.id))
            return rows.mails.values.map(\.mail).filter { mail in
                open.contains(mail.id) && (client.map { mail.client == $0 } ?? true)
            }
        }
    }

    package func overdueMail(for age: Int64, limit: Int) throws(LedgerError) -> [DeliveryRow] {
        try run(.overdueMail) { rows, moment in
            let end = Self.end(moment, age)
            return rows.ordered.filter { row in
                row.state.isOpen && row.since < end && rows.mails[row.id].map { $0.since < end } ?? false
            }.prefix(max(0, limit)).map { $0 }
        }
    }

    package func forgetMail(endedFor age: Int64) throws(LedgerError) {
        try run(.forgetMail) { rows, moment in
            let end = Self.end(moment, age)
            let kept = Set(rows.deliveries.values.filter { $0.state.isOpen || $0.since >= end }.map(\.id))
            let before = rows.mails.count
            rows.mails = rows.mails.filter { kept.contains($0.key) || $0.value.since >= end }
            rows.deliveries = rows.deliveries.filter { rows.mails[$0.value.id] != nil }
            if rows.mails.count != before { rows.mailRevision += 1 }
        }
    }

    package func people() throws(LedgerError) -> [KnownPerson] {
        try run(.people) { rows, _ in rows.people.sorted { $0.key < $1.key }.map(\.value.person) }
    }

    package func idlePeople(limit: Int) throws(LedgerError) -> [String] {
        try run(.idlePeople) { rows, _ in
            let busy = Set(rows.deliveries.values.map { PathKey($0.recipient) })
                .union(rows.mails.values.map { PathKey($0.mail.sender) })
            let idle = rows.people.filter { $0.value.person.isUnproven && !busy.contains($0.key) }.values
            return idle.sorted { ($0.seen, $0.order) < ($1.seen, $1.order) }.prefix(limit).map(\.person.name)
        }
    }

    package func forget(people names: [String]) throws(LedgerError) {
        try run(.forgetPeople) { rows, _ in for name in names { rows.people[PathKey(name)] = nil } }
    }

    package func keep(_ persons: [KnownPerson], at moment: Int64) throws(LedgerError) {
        try run(.keepPeople) { rows, _ in
            for person in persons {
                rows.peopleKept += 1
                rows.people[PathKey(person.name)] = ModelRows.Person(
                    person: person, seen: moment, order: rows.peopleKept)
            }
        }
    }
}

extension ModelLedger {
    /// The moment before which something is older than `age`. An age beyond all times is before or after all moments.
    private static func end(_ moment: Int64, _ age: Int64) -> Int64 {
        let (end, overflow) = moment.subtractingReportingOverflow(age)
        return overflow ? (age > 0 ? .min : .max) : end
    }
}

extension ModelRows {
    fileprivate var ordered: [DeliveryRow] { deliveries.values.sorted { $0.number < $1.number } }

    fileprivate func deliveries(
        after number: UInt64, _ limit: Int, _ matches: (DeliveryRow, Mail) -> Bool
    ) -> [Delivery] {
        ordered.compactMap { row in
            guard row.number > number, let mail = mails[row.id]?.mail, matches(row, mail) else { return nil }
            return row.delivery(of: mail)
        }.prefix(max(0, limit)).map { $0 }
    }

    /// What waits for a person, by senders. Senders without keys count as one.
    fileprivate func waiting(for recipient: String) -> [MailFacts.Waiting] {
        var found: [PathKey?: MailFacts.Waiting] = [:]
        for row in deliveries.values where row.state.isOpen && row.recipient.hasSameBytes(as: recipient) {
            guard let mail = mails[row.id]?.mail else { continue }
            let key = mail.isUnproven ? nil : PathKey(mail.sender)
            let known = found[key] ?? MailFacts.Waiting(for: recipient, from: mail.from, count: 0, bytes: 0)
            found[key] = MailFacts.Waiting(
                for: recipient, from: known.sender, count: known.count + 1,
                bytes: known.bytes.addingClamped(mail.size))
        }
        return Array(found.values)
    }

    func check(_ changes: MailChanges) throws(LedgerError) {
        guard changes.isEmpty || changes.revision == mailRevision else {
            throw LedgerError(.conflict, "The mailboxes have changed.")
        }
    }

    mutating func make(_ changes: MailChanges) {
        guard !changes.isEmpty else { return }
        mailRevision += 1
        mails.merge(changes.mails) { $1 }
        for number in changes.removed { deliveries[number] = nil }
        deliveries.merge(changes.deliveries) { $1 }
        lastDelivery = max(lastDelivery, changes.deliveries.keys.max() ?? 0)
    }
}

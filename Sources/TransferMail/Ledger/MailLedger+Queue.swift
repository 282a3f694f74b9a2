package import TransferDatabase
package import TransferModel

/// What came of a mail that was to be queued.
package enum QueuedMail: Equatable, Sendable {
    /// It waits for all of its recipients, or has waited.
    ///
    /// - Parameters:
    ///   - fresh: those for whom it is new.
    ///   - isKept: whether its content is what they get. Otherwise the content that came now is one too many.
    ///   - freed: what it was before, whose content nobody needs any more.
    case queued(fresh: [String], isKept: Bool, freed: Mail?)
    case refused(MailRefusal)
}

extension MailLedger {
    /// Puts mails into mailboxes, all in one transaction. An upload comes to each person once: where it waits already or was
    /// received nothing changes. What was declined or has expired waits anew.
    ///
    /// - Parameter isThere: whether there is still content at a path.
    /// - Returns: what came of each, in order.
    package func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits, isThere: (RelativePath) -> Bool
    ) throws(DatabaseError) -> [QueuedMail] {
        try write { (connection, totals) throws(DatabaseError) in
            var queued: [QueuedMail] = []
            for (mail, recipients) in mails {
                queued.append(try Self.queue(mail, recipients, limits, isThere, connection, &totals))
            }
            return queued
        }
    }

    private static func queue(
        _ mail: Mail, _ recipients: [String], _ limits: MailLimits, _ isThere: (RelativePath) -> Bool,
        _ connection: MailConnection, _ totals: inout MailTotals
    ) throws(DatabaseError) -> QueuedMail {
        let known = try connection.find(mail.id)
        let deliveries = known == nil ? [] : try connection.deliveries(of: mail.id)
        // What a client sends under one id is one upload.
        let found = Dictionary(deliveries.map { (PathKey($0.recipient), $0) }) { first, _ in first }
        let fresh = recipients.filter { name in
            found[PathKey(name)].map { $0.state == .declined || $0.state == .expired } ?? true
        }
        if let known, !known.mail.mayBe(mail), deliveries.contains(where: { $0.state.isOpen || $0.state == .delivered })
        {
            return .refused(.otherContent)
        }
        for name in fresh {
            if let refusal = totals.refusal(mail.size, from: mail.from, to: name, limits) { return .refused(refusal) }
        }
        let isOpen = deliveries.contains { $0.state.isOpen }
        let isGood =
            known.map { isOpen && $0.mail.digest == mail.digest && !$0.mail.isRotten && isThere($0.mail.path) } ?? false
        guard !fresh.isEmpty || isOpen else { return .queued(fresh: [], isKept: false, freed: nil) }
        let number: Int64
        if let known {
            number = known.number
            if !isGood { try connection.update(mail) }
        } else {
            number = try connection.insert(mail)
        }
        if isOpen, !isGood, let known { totals.close(known.mail.cost, from: known.mail.client) }
        if !isOpen || !isGood { totals.open(mail.cost, from: mail.client) }
        for name in fresh {
            if let ended = found[PathKey(name)] { try connection.delete(delivery: ended.number) }
            try connection.queue(number, to: name, at: mail.queued)
            totals.add(mail.size, from: mail.from, to: name)
        }
        return .queued(fresh: fresh, isKept: !isGood, freed: isGood ? nil : known?.mail)
    }

    /// An upload that was queued before, with all that became of it.
    package func deliveries(of id: UploadID) throws(DatabaseError) -> [Delivery] {
        try read { (connection) throws(DatabaseError) in try connection.deliveries(of: id) }
    }
}

extension Mail {
    /// Whether another one can have the same content, as far as sizes and digests tell.
    fileprivate func mayBe(_ other: Mail) -> Bool {
        size == other.size && (digest.algorithm != other.digest.algorithm || digest == other.digest)
    }
}

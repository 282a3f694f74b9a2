import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferStore

/// Checks of the mailboxes after every step.
extension World {
    /// - Throws: `Promises.Broken`, and errors of the ledger.
    func checkMail() throws {
        guard let ledger, !disk.isDead else { return }
        guard checkedMail?.ledger != ledger.version || checkedMail?.medium != disk.medium.version else { return }
        var found: [MailKey: MailRow] = [:]
        for (id, recipient, row) in try ledger.rows() {
            let key = MailKey(id: id, recipient: recipient)
            var row = row
            row.attempts = mails.first { $0.id == id }?.attempts ?? 0
            guard found.updateValue(row, forKey: key) == nil else {
                throw Promises.Broken("\(id) is for \(recipient) twice")
            }
            try check(row, key)
        }
        // Rows of a commit that no caller knows to have succeeded do not count once the commit is lost.
        if ledger.hasReverted {
            rows = rows.filter { !$0.value.state.isOpen && said[$0.key]?.confirmed == $0.value.state }
        }
        for (key, row) in found {
            // After the loss of a commit, a row may be what it was before the commit, even if the row had been removed.
            try compare(rows[key] ?? (ledger.hasReverted ? earlierRows[key]?[row.state] : nil), row, key)
        }
        ledger.hasReverted = false
        for key in rows.keys where found[key] == nil {
            guard mayExpire || said[key]?.confirmed == nil else {
                throw Promises.Broken("what \(key.recipient) has received is forgotten")
            }
            said[key]?.confirmed = nil
        }
        try checkPromises(found)
        try checkLimits(found)
        mayExpire = false
        for (key, row) in found { earlierRows[key, default: [:]][row.state] = row }
        rows = found
        checkedMail = (disk.medium.version, ledger.version)
    }

    /// An open delivery must have its content on the disk that a power cut would leave.
    private func check(_ row: MailRow, _ key: MailKey) throws(Promises.Broken) {
        guard let mail = mails.first(where: { $0.id == key.id }), mail.recipients.contains(key.recipient) else {
            throw Promises.Broken("\(key.recipient) is to have what nobody has sent to him")
        }
        guard row.size == contents[mail.content].count, row.digest == digest(of: mail.content).bytes else {
            throw Promises.Broken("a mail has another size or digest than what was sent")
        }
        guard row.state.isOpen else { return }
        guard disk.medium.seen(at: row.path) == contents[mail.content] else {
            throw Promises.Broken("\(key.recipient) is to have what is not there, or other content")
        }
        for possibility in disk.medium.possibilities(at: row.path) where possibility != .content(contents[mail.content])
        {
            throw Promises.Broken("after a power cut \(key.recipient) could not have what waits for him")
        }
    }

    /// A delivery ends only when its recipient reports so, or by its age, and only once.
    private func compare(_ old: MailRow?, _ new: MailRow, _ key: MailKey) throws(Promises.Broken) {
        let said = said[key] ?? Said()
        if said.confirmed == .delivered, new.state != .delivered {
            throw Promises.Broken("\(key.recipient) was told that it is taken for delivered, and it is \(new.state)")
        }
        guard old?.state != new.state else { return }
        switch new.state {
        case .queued:
            guard let old else { return }
            if old.state == .delivered, new.changed - old.changed < 2 * Self.mailAge {
                throw Promises.Broken("\(key.recipient) is to have again what he has received")
            }
            // An attempt that was under way already counts as sending the mail again.
            guard new.attempts > 1 || old.state == .fetched else {
                throw Promises.Broken("what has ended for \(key.recipient) waits again, and nobody has sent it")
            }
        case .fetched: break
        case .delivered, .declined:
            guard said.states.contains(new.state) else {
                throw Promises.Broken("\(key.recipient) has not said that it is \(new.state)")
            }
        case .expired:
            guard mayExpire else { throw Promises.Broken("a delivery has expired, and nobody has looked") }
        }
    }

    /// An acknowledged mail is in the mailbox of each recipient, or its delivery has ended.
    private func checkPromises(_ found: [MailKey: MailRow]) throws(Promises.Broken) {
        for (index, mail) in mails.enumerated() where mail.isPromised {
            for name in mail.recipients {
                let key = MailKey(id: mail.id, recipient: name)
                guard found[key] == nil else { continue }
                // The delivery has ended long ago, and the ledger has forgotten it.
                guard let last = rows[key] ?? forgotten[key], !last.state.isOpen, mayExpire || forgotten[key] != nil
                else {
                    throw Promises.Broken("mail \(index) was acknowledged, and is in no mailbox of \(name)")
                }
                forgotten[key] = last
                said[key]?.confirmed = nil
            }
        }
    }

    private func checkLimits(_ found: [MailKey: MailRow]) throws(Promises.Broken) {
        var (counts, bytes): ([String: Int], [String: Int]) = ([:], [:])
        for (key, row) in found where row.state.isOpen {
            counts[key.recipient, default: 0] += 1
            bytes[key.recipient, default: 0] += row.size
        }
        for (name, count) in counts
        where count > Self.mailLimits.count || bytes[name, default: 0] > Self.mailLimits.bytes {
            throw Promises.Broken(
                "the mailbox of \(name) has \(count) deliveries with \(bytes[name, default: 0]) bytes")
        }
        guard let mailroom, let ledger = try? mailroom.ledger, self.ledger?.hasFailed == false else { return }
        for name in SimulatedPeople.names {
            let waiting = ledger.waiting(for: name)
            guard waiting.count == counts[name, default: 0], waiting.bytes == UInt64(bytes[name, default: 0]) else {
                throw Promises.Broken("\(waiting) is counted for \(name), and \(counts[name, default: 0]) wait")
            }
        }
    }

    /// Ends a run without further faults: all mail can be sent again, all mail is received, and no delivery is left.
    func finishMail() throws {
        guard let mailroom, let session = session(0) else { return }
        for index in mails.indices where mails[index].caller == session.caller && !mails[index].isPromised {
            for _ in 0..<3 where !mails[index].isPromised {
                mails[index].refusal = nil
                try send(index, on: session, upTo: 9)
                try publish(session)
                try acknowledge(session)
            }
            // Mail in a folder that could not be synced stays refused.
            if let refusal = mails[index].refusal, !mails[index].isPromised,
                [.busy, .storageFailed].contains(refusal.code), !refusal.message.contains("remove the directory")
            {
                throw Promises.Broken("mail \(index) can never be brought: \(refusal)")
            }
        }
        try checkMail()
        for name in SimulatedPeople.names {
            let ids = try mailroom.ledger.inbox(of: name, after: 0, limit: 100).map(\.mail.id)
            guard !ids.isEmpty else { continue }
            for id in ids { said[MailKey(id: id, recipient: name), default: Said()].states.insert(.delivered) }
            guard let ended = try mailroom.settle(ids, by: name, as: .delivered).ended else {
                throw Promises.Broken("\(name) cannot settle what waits for him")
            }
            intake?.mail.free(ended.freed)
        }
        try checkMail()
    }
}

import Glibc
import TransferDatabase
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Mail, which is an upload for recipients, and the recipients.
extension World {
    /// Nanoseconds that a delivery waits for its recipient at most.
    static let mailAge: Int64 = 3 * 3600 * 1_000_000_000

    /// Limits of a mailbox, low enough to be reached at times.
    static let mailLimits = MailLimits(count: 12, bytes: 60_000)

    private static let audiences = [
        ["bob"], ["carol"], ["bob", "carol"], ["owner", "bob", "carol", "guest"], ["guest"], ["bob", "nobody"],
    ]

    func openMailroom() throws {
        guard let ledger else { return }
        ledger.isDead = { [unowned disk] in disk.isDead }
        ledger.die = { [unowned disk] in disk.die() }
        let clock = clock
        mailroom = Mailroom(
            .success(try ledger.open(clock: { clock.stamp() })), SimulatedPeople(), Self.mailLimits,
            utc: { clock.stamp() })
    }

    // MARK: Sending

    func mail(_ step: Step) throws {
        guard mailroom != nil, let session = session(step.a), session.current == nil else { return }
        let isInParts = step.b % 4 == 0
        let size =
            isInParts
            ? Int(step.c >> 4 % 2 + 1) * Self.block + Int(step.c >> 8 % 3) * 7
            : mix.sizes[Int(step.c >> 4) % mix.sizes.count]
        mails.append(
            SentMail(
                id: UploadID(high: 1 << 62 | UInt64(mails.count + 1), low: UInt64(step.b)),
                content: addContent(size), recipients: Self.audiences[Int(step.c >> 12) % Self.audiences.count],
                isInParts: isInParts && Self.block <= 4 << 10, caller: session.caller))
        try send(mails.count - 1, on: session, upTo: step.c >> 20 % 6)
        if step.c >> 24 % 2 == 0 { try publish(session) }
        if step.c >> 25 % 4 == 0 { try acknowledge(session) }
    }

    /// A sender sends its mail again, over any connection of the client, even while an earlier attempt is still under
    /// way.
    func mailAgain(_ step: Step) throws {
        guard mailroom != nil, let session = session(step.a), session.current == nil else { return }
        let own = mails.indices.filter { mails[$0].caller == session.caller }
        guard let index = own.randomElement(step.b) else { return }
        try send(index, on: session, upTo: 5, mayEnd: step.c % 2 == 0)
        if step.c >> 1 % 2 == 0 { try publish(session) }
        if step.c >> 2 % 2 == 0 { try acknowledge(session) }
    }

    /// - Parameter pieces: number of pieces after which the sender stops, if the mail has more.
    func send(_ index: Int, on session: Session, upTo pieces: UInt32, mayEnd: Bool = false) throws {
        mails[index].attempts += 1
        let (id, size) = (mails[index].id, contents[mails[index].content].count)
        if mails[index].isInParts {
            for (number, start) in stride(from: 0, to: size, by: Self.block).enumerated() {
                guard number < pieces else { return }
                let range = start..<min(size, start + Self.block)
                let part = UploadPart(of: id, offset: UInt64(start), total: UInt64(size))
                let partID = UploadID(high: 1 << 63 | id.high, low: UInt64(start))
                try send(index, range, intent(index, partID, UInt64(range.count), .part(part)), on: session)
            }
            guard pieces > 2 else { return }
            return try send(index, 0..<0, intent(index, id, UInt64(size), .multipart), on: session, mayEnd: mayEnd)
        }
        guard pieces > 0 else { return }
        try send(index, 0..<size, intent(index, id, UInt64(size), .whole), on: session, mayEnd: mayEnd)
    }

    private func intent(
        _ index: Int, _ id: UploadID, _ size: UInt64, _ extent: UploadIntent.Extent
    ) -> UploadIntent {
        UploadIntent(
            id: id, path: "letters/\(index)", size: size, extent: extent, recipients: mails[index].recipients)
    }

    private func send(
        _ index: Int, _ range: Range<Int>, _ intent: UploadIntent, on session: Session, mayEnd: Bool = false
    ) throws {
        let begun = session.intake.begin(intent, mayEnd: mayEnd)
        try noteNames()
        if let outcome = begun.outcome { return try toldOfMail(outcome, intent.id) }
        let content = contents[mails[index].content]
        let isAll = intent.extent == .multipart
        let outcome: UploadOutcome?
        do throws(Failure) {
            try Array(content[range]).span.bytes.withUnsafeBytes { (bytes) throws(Failure) in
                if !bytes.isEmpty { try begun.upload.write(bytes) }
            }
            let end = DeclaredEnd(
                size: UInt64(isAll ? content.count : range.count),
                digest: digest(of: mails[index].content, isAll ? nil : range))
            outcome = try session.intake.finish(begun.upload, end)
            session.hasMail = true
        } catch {
            outcome = session.intake.refuse(begun.upload, error)
        }
        try noteNames()
        if let outcome { try toldOfMail(outcome, intent.id) }
        if session.intake.hasMuchVerified { try publish(session) }
    }

    /// Records the outcome of a mail, as the sender receives it.
    func toldOfMail(_ outcome: UploadOutcome, _ id: UploadID) throws(Promises.Broken) {
        guard !disk.isDead, !isUnheard, let index = mails.firstIndex(where: { $0.id == id }) else { return }
        trace.add(Int(outcome.code.rawValue))
        if options.tells { print("    mail \(index): \(outcome.code) \(outcome.message)") }
        switch outcome {
        case .acknowledged(let acknowledgement):
            guard acknowledgement.isDurable, acknowledgement.size == contents[mails[index].content].count,
                acknowledgement.digest == digest(of: mails[index].content)
            else { throw Promises.Broken("mail \(index) was acknowledged with another size or digest, or not durable") }
            done.insert(.mail)
            mails[index].isPromised = true
        case .refused(let error, _): mails[index].refusal = error
        case .skipped, .staged, .kept: break
        }
    }

    // MARK: Receiving

    /// A recipient lists its mail, fetches some of it, and settles it; or another client tries to settle it.
    func settle(_ step: Step) throws {
        guard let mailroom, let intake else { return }
        let name = SimulatedPeople.names[Int(step.a) % SimulatedPeople.names.count]
        if step.b % 8 == 0 { return try settleForAnother(step, name) }
        do throws(RecordsError) {
            let all = try mailroom.ledger.inbox(of: name, after: 0, limit: 100, withEnded: step.b % 8 == 1)
            let some = all.dropFirst(Int(step.c % 3)).prefix(1 + Int(step.c >> 4 % 4))
            guard !some.isEmpty, !disk.isDead else { return }
            if step.b >> 8 % 2 == 0 {
                try mailroom.fetched(Array(some))
                done.insert(.fetchMail)
            }
            let state: DeliveryState = step.b >> 4 % 4 == 0 ? .declined : .delivered
            for delivery in some {
                said[MailKey(id: delivery.mail.id, recipient: name), default: Said()].states.insert(state)
            }
            let ended = try mailroom.settle(some.map(\.mail.id), by: name, as: state).ended
            // The server's `RequestWorker` frees the room in the same way.
            if let ended { intake.mail.free(ended.freed) }
            guard ended != nil, !disk.isDead else { return }
            done.insert(state == .declined ? .declineMail : .receiveMail)
            for delivery in some {
                let key = MailKey(id: delivery.mail.id, recipient: name)
                // A delivery that has ended in another state stays in it.
                if state == .delivered { said[key]?.confirmed = .delivered }
            }
        } catch {
            // The recipient reports the state again in a later step.
        }
    }

    private func settleForAnother(_ step: Step, _ name: String) throws {
        guard let mailroom, let other = mails.filter({ !$0.recipients.contains(name) }).randomElement(step.c) else {
            return
        }
        let ended = try? mailroom.settle([other.id], by: name, as: .delivered).ended
        guard let ended = ended ?? nil, !disk.isDead else { return }
        throw Promises.Broken("\(name) has settled \(ended.deliveries.count) deliveries for somebody else")
    }

    /// A recipient sets the key for uploads that are sealed for it. A key that the server has confirmed must survive
    /// each restart.
    func introduce(_ step: Step) throws {
        guard let mailroom, let ledger, !disk.isDead else { return }
        let name = SimulatedPeople.names[Int(step.a) % SimulatedPeople.names.count]
        do throws(RecordsError) {
            // The server remembers each client that makes a request. Before that, it loads everything that it has kept
            // about clients.
            try mailroom.remember([name])
            if let key = sealingKeys[name], mailroom.sealingKey(of: name) != key, !ledger.hasFailed, !disk.isDead {
                throw RecordsError(.damaged, "")
            }
            let key = SplitMix64.bytes(seed: UInt64(step.b), 32)
            sealingKeys[name] = nil
            try mailroom.introduce(name, sealingKey: key)
            guard !disk.isDead else { return }
            sealingKeys[name] = key
            done.insert(.introduce)
        } catch {
            if error.reason == .damaged { throw Promises.Broken("the key of \(name) was kept, and is lost") }
        }
    }

    func expireMail(_ step: Step) throws {
        guard !disk.isDead else { return }
        wait(step.b % 2 == 0 ? 4 * 3600 : 3600)
        mayExpire = true
        if let ended = try? intake?.mail.expire(after: Self.mailAge), !ended.isEmpty { done.insert(.expireMail) }
    }

    /// Sweeps the mailboxes, as a starting server does.
    func sweepMail() throws {
        guard mailroom != nil, !disk.isDead else { return }
        let failures = disk.failures
        guard let swept = try? intake?.mail.sweep() else { return }
        if swept > 0 { done.insert(.sweepMail) }
        if options.tells, swept > 0 { print("    \(swept) files were swept") }
        guard !disk.isDead, disk.failures == failures else { return }
        guard orphanBytes == 0 else { throw Promises.Broken("content that nobody waits for is left behind a start") }
    }

    /// Bytes of mail content that no recipient can receive any more.
    var orphanBytes: Int {
        guard let ledger, let found = try? ledger.rows() else { return 0 }
        let open = Set(found.filter(\.row.state.isOpen).map(\.row.path))
        return disk.medium.ownNames("mail").reduce(0) { sum, named in
            open.contains(".transfer/mail/" + named.key) ? sum : sum + (disk.medium.seen(of: named.value)?.count ?? 0)
        }
    }
}

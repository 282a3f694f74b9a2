import TransferCodec
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferStore
import TransferTestSupport

/// What is promised.
extension World {
    func addContent(_ size: Int) -> Int {
        var content = SplitMix64.bytes(seed: random.next(), size)
        // Short ones may be those of others by chance.
        while !content.isEmpty, foreign.values.contains(where: { $0.contains(content) }) {
            content = SplitMix64.bytes(seed: random.next(), size)
        }
        if let known = number(of: content) { return known }
        beginnings[Array(content.prefix(16)), default: []].append(contents.count)
        contents.append(content)
        return contents.count - 1
    }

    /// - Returns: nothing for what is no whole upload's.
    func number(of content: [UInt8]) -> Int? {
        beginnings[Array(content.prefix(16))]?.first { contents[$0] == content }
    }

    func digest(of content: Int, _ range: Range<Int>? = nil) -> Digest {
        let digester = ContentDigester(.xxh128)
        contents[content].withUnsafeBytes { bytes in
            digester.update(UnsafeRawBufferPointer(rebasing: bytes[range ?? 0..<bytes.count])) { _, _ in }
        }
        return digester.finish().digest
    }

    /// The caller is told how an upload ended.
    ///
    /// - Parameters:
    ///   - isOfNow: whether the server has just looked whether it is stored.
    ///   - published: when what it is told of was published; the last time, where nothing says when.
    func told(
        _ outcome: UploadOutcome, _ index: Int, isOfNow: Bool = false, at published: PublishedMoment? = nil
    ) throws(Promises.Broken) {
        // Nobody hears what a dead process says.
        guard !disk.isDead else { return }
        moment += 1
        if case .refused(let error, _) = outcome { uploads[index].refusal = error }
        trace.add(outcome.path?.string ?? "")
        trace.add(Int(outcome.code.rawValue))
        if options.tells { print("    upload \(index): \(outcome.code) \(outcome.path?.string ?? outcome.message)") }
        uploads[index].isOnItsWay = false
        // What is over has no place any more for parts that are still coming.
        for claim in claims where claim.upload == index { claim.mayBeLost = true }
        switch outcome {
        case .acknowledged(let acknowledgement): try judge(acknowledgement, index, isOfNow: isOfNow, at: published)
        // What is in doubt may be anybody's.
        case .skipped
        where uploads[index].publishedUnder == servers && uploads[index].failedUnder != servers && !records.hasFailed
            && store?.isInDoubt == false && stands(index, at: uploads[index].path):
            throw Promises.Broken("upload \(index) was skipped for its own content")
        case .skipped, .staged, .kept, .refused: break
        }
    }

    func judge(
        _ acknowledgement: Acknowledgement, _ index: Int, isOfNow: Bool, at published: PublishedMoment? = nil
    ) throws(Promises.Broken) {
        let upload = uploads[index]
        guard acknowledgement.size == contents[upload.content].count,
            acknowledgement.digest == digest(of: upload.content)
        else { throw Promises.Broken("upload \(index) was acknowledged with another size or digest") }
        guard acknowledgement.isDurable else { throw Promises.Broken("upload \(index) was acknowledged, not durable") }
        let path = acknowledgement.path.string
        if isOfNow, disk.medium.seen(at: path) != contents[upload.content], rotten[path] ?? true {
            throw Promises.Broken("upload \(index) is said to be stored under \(path), and is not")
        }
        // Another client may have moved a rotten file there since it was published.
        if isOfNow || arrivals[path] ?? 0 <= (published ?? upload.published)?.changes ?? .max {
            try checkRot(path, index)
        }
        admitForeign(upload.content, at: path)
        (uploads[index].hasNewFile, uploads[index].mayBeForgotten) = (false, records.hasUnsyncedDeath)
        let answer = Answer(
            code: acknowledgement.code, path: path, server: servers, version: disk.medium.version(at: path))
        if !isUnheard {
            if let earlier = upload.answer, stands(index, at: earlier.path) { try compare(earlier, answer, index) }
            uploads[index].answer = answer
            uploads[index].answered = moment
        }
        let now = PublishedMoment(changes: promises.changes, publications: promises.publications)
        guard let published = isOfNow ? now : published ?? upload.published else {
            throw Promises.Broken("upload \(index) was acknowledged, and nobody has published it")
        }
        try promises.acknowledged(
            upload.content, at: path, since: published.changes, upTo: published.publications)
    }

    /// What others have written may be the same by chance: both may be empty. That it stays is not promised then, because what
    /// has replaced it since cannot be told from what it has replaced.
    func admitForeign(_ content: Int, at path: String) {
        guard foreign[path]?.contains(contents[content]) ?? false, !promises.had(content, at: path) else { return }
        copied.insert(content)
        promises.published(content, at: path)
    }

    /// Whoever asks again gets the same answer, as long as nobody has changed what it is about.
    private func compare(_ earlier: Answer, _ answer: Answer, _ index: Int) throws(Promises.Broken) {
        // What could not be recorded is not known to the next server.
        guard earlier.path == answer.path || records.hasFailed && earlier.server != servers else {
            throw Promises.Broken(
                "upload \(index) was acknowledged under \(earlier.path), and then under \(answer.path)")
        }
        // A guest who puts content that is in doubt in place of the same does not become its owner, and learns that later.
        // Whoever cannot be looked up comes anew, also because the file was touched when it lost another name.
        guard
            earlier.code == answer.code || records.hasFailed || earlier.server != servers || uploads[index].caller != 0
                || earlier.version != answer.version
        else {
            throw Promises.Broken("upload \(index) was told \(earlier.code), and then \(answer.code)")
        }
    }

    /// Whether a path has the content of an upload, of which there is no other, and nobody has touched it.
    func stands(_ index: Int, at path: String) -> Bool {
        let content = uploads[index].content
        return !isShared(content) && touched[path] != content
            && promises.places(of: content, disk.medium) { contents[$0] }.contains(path)
    }

    func gave(_ signedBatch: SignedBatch?) throws(Promises.Broken) {
        guard let signedBatch, !disk.isDead else { return }
        done.insert(.sign)
        for offset in 0..<UInt64(signedBatch.count) where !receiptNumbers.insert(signedBatch.number + offset).inserted {
            throw Promises.Broken("the receipt number \(signedBatch.number + offset) was given twice")
        }
    }

    func isShared(_ content: Int) -> Bool {
        copied.contains(content) || uploads.count { $0.content == content } > 1
    }

    /// Looks at every name that has changed: nothing half-written may have one, and nothing two.
    func noteNames() throws(Promises.Broken) {
        let medium = disk.medium
        let namings = disk.takeNamings()
        for (index, naming) in namings.enumerated() {
            if options.tells { print("    \(naming.path) is object \(naming.object.map(String.init) ?? "none")") }
            try checkCommand(naming)
            noteChanging(naming)
            if try noteKeeping(naming, before: namings[(index + 1)...]) { continue }
            guard let object = naming.object else {
                // A folder that others make there is not taken for the one that has gone.
                forgetDurable(naming.path)
                // An upload that was stored beside a folder or link, and that nobody recorded, gets this name if it comes again.
                if let gone = naming.replacedObject, medium.seen(of: gone) == nil {
                    promises.noteChange(of: naming.path)
                }
                continue
            }
            for move in naming.moves { note(move) }
            guard !medium.isLink(object) else {
                // One that is moved says so above.
                if naming.moves.isEmpty { promises.removed(naming.path, nil) }
                continue
            }
            if !naming.moves.isEmpty, medium.seen(of: object) != nil { continue }
            guard let seen = medium.seen(of: object) else {
                // A directory that the server makes is not taken for one that others have removed, nor what is below it.
                removedDirectories.removeAll { $0 == naming.path || $0.hasPrefix(naming.path + "/") }
                forgetDurable(naming.path)
                continue
            }
            // A second name of what others have written.
            guard !medium.isForeign(object) else {
                note(foreign: seen, at: naming.path)
                continue
            }
            guard let content = number(of: seen) else {
                throw Promises.Broken("\(naming.path) got a name, and is no whole upload")
            }
            let others = promises.places(of: content, medium) { contents[$0] }.filter {
                $0 != naming.path && touched[$0] != content
                    && !promises.hasChanged(naming.path, since: $0, had: content)
            }
            guard others.isEmpty || isShared(content) else {
                throw Promises.Broken("content \(content) is stored as \(others[0]), and as \(naming.path)")
            }
            // What the catalog says of the file that gave way stays, as what was stored there before.
            promises.forgetKnown(at: naming.path)
            promises.published(content, at: naming.path)
            for index in uploads.indices where uploads[index].content == content { uploads[index].hasNewFile = true }
            rotten[naming.path] = nil
            touched[naming.path] = nil
            log.append((naming.path, content, naming.object, naming.replaced, naming.replacedObject))
        }
    }

    private func forgetDurable(_ path: String) {
        durableDirectories = durableDirectories.filter { $0 != path && !$0.hasPrefix(path + "/") }
    }

    /// Looks at the names that a connection's uploads have got: none by an attempt that had begun before the upload was told
    /// to be stored, and none in place of what a newer connection has stored, when its own client has gone.
    func judge(_ attempts: [Attempt], of session: Session, since start: Int) throws(Promises.Broken) {
        for attempt in attempts {
            let upload = uploads[attempt.upload]
            // Where it comes once more in the same batch, it is that which was stored.
            guard !attempts.contains(where: { $0.upload == attempt.upload && $0.begun > attempt.begun }) else {
                continue
            }
            for naming in log[start...] where naming.content == upload.content && !isShared(upload.content) {
                // Whoever could not be looked up when he began comes anew, and in doubt he takes the place of what is there.
                // What somebody else has changed since is stored again.
                if attempt.begun < upload.answered, let answer = upload.answer, answer.server == servers,
                    naming.path != answer.path || naming.replaced == contents[upload.content],
                    stands(attempt.upload, at: answer.path), !records.hasFailed
                {
                    throw Promises.Broken(
                        "upload \(attempt.upload) was stored again by what was sent before it was told")
                }
                guard session.caller == 0 || guestMaySend else {
                    throw Promises.Broken(
                        "upload \(attempt.upload) was published for a client that may not send any more")
                }
                try check(attempts.filter { $0.upload == attempt.upload }, replace: naming.replacedObject)
                guard upload.conflict == .overwrite, naming.path == upload.path else { continue }
                remember(fileOf: session, naming.object)
                if session.isGone, overwriters[naming.path] ?? 0 > session.number,
                    let replaced = naming.replaced, let other = number(of: replaced), other != upload.content
                {
                    throw Promises.Broken("upload \(attempt.upload) of a dead connection replaced a newer one")
                }
                try checkOwner(attempt.upload, naming.replaced)
                overwriters[naming.path] = max(session.number, overwriters[naming.path] ?? 0)
            }
        }
    }
}

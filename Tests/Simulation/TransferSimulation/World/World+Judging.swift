import TransferCodec
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferStore
import TransferTestSupport

/// Checks of the answers and publications of the server.
extension World {
    func addContent(_ size: Int) -> Int {
        var content = SplitMix64.bytes(seed: random.next(), size)
        // Short contents may equal those of other programs by chance.
        while !content.isEmpty, foreign.values.contains(where: { $0.contains(content) }) {
            content = SplitMix64.bytes(seed: random.next(), size)
        }
        if let known = number(of: content) { return known }
        beginnings[Array(content.prefix(16)), default: []].append(contents.count)
        contents.append(content)
        return contents.count - 1
    }

    /// - Returns: nil for content that is not a whole upload.
    func number(of content: [UInt8]) -> Int? {
        beginnings[Array(content.prefix(16))]?.first { contents[$0] == content }
    }

    func digest(of content: Int, _ range: Range<Int>? = nil, by function: DigestFunction = .xxh128) -> Digest {
        let digester = ContentDigester(function)
        contents[content].withUnsafeBytes { bytes in
            digester.update(UnsafeRawBufferPointer(rebasing: bytes[range ?? 0..<bytes.count])) { _, _ in }
        }
        return digester.finish().digest
    }

    /// Records the outcome of an upload, as the caller receives it.
    ///
    /// - Parameters:
    ///   - isOfNow: whether the server has just checked that the upload is stored.
    ///   - published: moment of the publication that the answer reports; nil for the last publication.
    func told(
        _ outcome: UploadOutcome, _ index: Int, isOfNow: Bool = false, at published: PublishedMoment? = nil
    ) throws(Promises.Broken) {
        // No client receives the answer of a dead process.
        guard !disk.isDead else { return }
        moment += 1
        if case .refused(let error, _) = outcome { uploads[index].refusal = error }
        trace.add(outcome.path?.string ?? "")
        trace.add(Int(outcome.code.rawValue))
        if options.tells { print("    upload \(index): \(outcome.code) \(outcome.path?.string ?? outcome.message)") }
        uploads[index].isOnItsWay = false
        // After an error of the server, the client may try again.
        if outcome.code.class != .server { uploads[index].wasPublished = false }
        // A late part may begin the upload anew before the next check.
        forgetVerified()
        // An upload that is over takes no more parts, even those that are still on their way.
        for claim in claims where claim.upload == index { claim.mayBeLost = true }
        switch outcome {
        case .acknowledged(let acknowledgement): try judge(acknowledgement, index, isOfNow: isOfNow, at: published)
        // If the store is in doubt, the file at the path may be that of any client.
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
            acknowledgement.digest == digest(of: upload.content, by: upload.function)
        else { throw Promises.Broken("upload \(index) was acknowledged with another size or digest") }
        guard acknowledgement.isDurable else { throw Promises.Broken("upload \(index) was acknowledged, not durable") }
        let path = acknowledgement.path.string
        if isOfNow, disk.medium.seen(at: path) != contents[upload.content], rotten[path] ?? true {
            throw Promises.Broken("upload \(index) is said to be stored under \(path), and is not")
        }
        // Since the publication, another client may have moved a rotten file to the path.
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

    /// Content of another program may equal that of an upload by chance, for example if both are empty. The content is
    /// then not promised to stay, because a later replacement cannot be distinguished from the content that it has
    /// replaced.
    func admitForeign(_ content: Int, at path: String) {
        guard foreign[path]?.contains(contents[content]) ?? false, !promises.had(content, at: path) else { return }
        copied.insert(content)
        promises.published(content, at: path)
    }

    /// A repeated query gets the same answer, as long as the file has not been changed.
    private func compare(_ earlier: Answer, _ answer: Answer, _ index: Int) throws(Promises.Broken) {
        // The next server does not know an outcome that could not be recorded.
        guard earlier.path == answer.path || records.hasFailed && earlier.server != servers else {
            throw Promises.Broken(
                "upload \(index) was acknowledged under \(earlier.path), and then under \(answer.path)")
        }
        // A guest that replaces content in doubt by the same content does not become its owner; only a later answer
        // says so. An upload that cannot be looked up is sent again, also because its file was touched when it lost
        // another name.
        guard
            earlier.code == answer.code || records.hasFailed || earlier.server != servers || uploads[index].caller != 0
                || earlier.version != answer.version
        else {
            throw Promises.Broken("upload \(index) was told \(earlier.code), and then \(answer.code)")
        }
    }

    /// Whether a path has the content of an upload, no other upload shares the content, and no other program has
    /// touched the file.
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

    /// Checks every name that has changed: no half-written file may have a name, and no content may have two.
    func noteNames() throws(Promises.Broken) {
        let medium = disk.medium
        let namings = disk.takeNamings()
        for (index, naming) in namings.enumerated() {
            if options.tells { print("    \(naming.path) is object \(naming.object.map(String.init) ?? "none")") }
            try checkCommand(naming)
            noteChanging(naming)
            if try noteKeeping(naming, before: namings[(index + 1)...]) { continue }
            guard let object = naming.object else {
                // A folder that other programs make at this path later does not count as the folder that is gone.
                forgetDurable(naming.path)
                // An upload that was stored beside a folder or link, and was not recorded, gets this name if it is sent
                // again.
                if let gone = naming.replacedObject, medium.seen(of: gone) == nil {
                    promises.noteChange(of: naming.path)
                }
                continue
            }
            for move in naming.moves { note(move) }
            guard !medium.isLink(object) else {
                // The moves above include a link that was moved.
                if naming.moves.isEmpty { promises.removed(naming.path, nil) }
                continue
            }
            if !naming.moves.isEmpty, medium.seen(of: object) != nil { continue }
            guard let seen = medium.seen(of: object) else {
                // A directory that the server makes does not count as one that other programs have removed, and neither
                // does a directory below it.
                removedDirectories.removeAll { $0 == naming.path || $0.hasPrefix(naming.path + "/") }
                forgetDurable(naming.path)
                continue
            }
            // The object is a second name of a file that another program wrote.
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
            // The catalog may keep the records of the replaced file, as of any upload that was stored at this path
            // before.
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

    /// Checks the names that the uploads of a connection have got. An attempt that began before the upload was
    /// acknowledged must get none, and an attempt of a client that has gone must not replace a file of a newer
    /// connection.
    func judge(_ attempts: [Attempt], of session: Session, since start: Int) throws(Promises.Broken) {
        for attempt in attempts {
            let upload = uploads[attempt.upload]
            // If the upload occurs again in the same batch, the later attempt is the one that was stored.
            guard !attempts.contains(where: { $0.upload == attempt.upload && $0.begun > attempt.begun }) else {
                continue
            }
            for naming in log[start...] where naming.content == upload.content && !isShared(upload.content) {
                // An upload that could not be looked up when the attempt began is sent again, and replaces the present
                // file if that is in doubt. An upload whose file another program has changed since is stored again.
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

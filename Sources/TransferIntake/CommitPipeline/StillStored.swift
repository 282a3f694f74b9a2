import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

extension CommitPipeline {
    /// Proof that all that a new acknowledgement would promise still holds for an earlier one.
    struct StillStored {
        let entry: CatalogEntry
        let path: RelativePath
        let digest: Digest

        fileprivate init(entry: CatalogEntry, path: RelativePath, digest: Digest) {
            (self.entry, self.path, self.digest) = (entry, path, digest)
        }
    }

    /// Proof that all recipients of a mail have received it, or still can.
    struct StillDelivered {
        let id: UploadID
        /// The path that the sender names now, in the server's directory.
        let path: RelativePath
        let size: UInt64
        let digest: Digest
        let isDurable: Bool

        fileprivate init(_ mail: Mail, at path: RelativePath, isDurable: Bool) {
            (id, size, digest) = (mail.id, mail.size, mail.digest)
            (self.path, self.isDurable) = (path, isDurable)
        }
    }
}

extension Intake {
    /// The earlier acknowledgement of an upload, if all that a new one would promise still holds. Only the version of
    /// the stored file is compared, because a request of a few bytes must not make the server read a file. A file that
    /// was touched or copied counts as unknown, because only reading it could show that it is the same. So does a file
    /// that is not durable, if the store syncs now: the client then sends its content once more.
    ///
    /// - Parameter hasRotten: whether any stored file may be known to be rotten; if so, each file is looked up.
    func stillStored(
        _ id: UploadID, _ function: DigestFunction, for caller: Caller, hasRotten: Bool
    ) -> CommitPipeline.StillStored? {
        guard let entry = known.entry(for: id), let promised = promised(entry, function, to: caller),
            let version = store.version(at: promised.path)
        else { return nil }
        if isKept(promised, version, hasRotten: hasRotten) { return promised }
        guard adoption.isOpen else { return nil }
        return stillStored([id], function, for: caller, hasRotten: hasRotten).first ?? nil
    }

    /// Whether an upload in a copied directory may still be stored, but its file is too large to be read while the
    /// client waits.
    ///
    /// - Returns: when to ask again; nil for any other upload.
    func isChecked(for id: UploadID) -> Interval? {
        guard adoption.isOpen, let entry = known.entry(for: id), let path = RelativePath(stored: entry.path),
            let version = store.version(at: path), adoption.isPending(entry, version),
            case .later(let interval) = adoption.adopt(path, version)
        else { return nil }
        return interval
    }

    /// The earlier acknowledgements of many uploads, in their order, as far as they still hold.
    ///
    /// - Returns: one element for each; in a copied directory perhaps only for the first ones, because files are read.
    func stillStored(
        _ ids: [UploadID], _ function: DigestFunction?, for caller: Caller, hasRotten: Bool
    ) -> [CommitPipeline.StillStored?] {
        stillStored(ids, known.entries(for: ids), function, for: caller, hasRotten: hasRotten)
    }

    /// - Parameter entries: the entries of the uploads.
    func stillStored(
        _ ids: [UploadID], _ entries: [CatalogEntry?], _ function: DigestFunction?, for caller: Caller, hasRotten: Bool
    ) -> [CommitPipeline.StillStored?] {
        let promised = entries.map { entry in entry.flatMap { self.promised($0, function, to: caller) } }
        let versions = self.versions(of: promised)
        var found = zip(promised, versions).map { promised, version -> CommitPipeline.StillStored? in
            guard let promised, let version, isKept(promised, version, hasRotten: hasRotten) else { return nil }
            return promised
        }
        guard adoption.isOpen else { return found }
        var (pending, bytes) = ([Int](), UInt64(0))
        for (index, (promised, version)) in zip(promised, versions).enumerated() where found[index] == nil {
            guard let promised, let version, adoption.isPending(promised.entry, version) else { continue }
            let more = bytes.addingClamped(version.size)
            guard pending.isEmpty || pending.count < Adoption.filesAtOnce && more <= Adoption.mostAtOnce else {
                found.removeSubrange(index...)
                break
            }
            pending.append(index)
            bytes = more
        }
        guard !pending.isEmpty else { return found }
        _ = adoption.adopt(
            pending.compactMap { index in
                versions[index].flatMap { version in promised[index].map { ($0.path, version) } }
            })
        // These entries include files that another thread has adopted just before.
        let adopted = known.entries(for: pending.map { ids[$0] }).map { entry in
            entry.flatMap { self.promised($0, function, to: caller) }
        }
        for (index, (promised, version)) in zip(pending, zip(adopted, self.versions(of: adopted))) {
            guard let promised, let version, isKept(promised, version, hasRotten: true) else { continue }
            found[index] = promised
        }
        return found
    }

    private func versions(of promised: [CommitPipeline.StillStored?]) -> [ContentVersion?] {
        var versions = store.versions(at: promised.compactMap { $0?.path })[...]
        return promised.map { $0 == nil ? nil : versions.popFirst() ?? nil }
    }

    /// What an entry promises, before its file is looked at; nil if a new acknowledgement would promise more.
    private func promised(
        _ entry: CatalogEntry, _ function: DigestFunction?, to caller: Caller
    ) -> CommitPipeline.StillStored? {
        guard let digest = entry.digest, function == nil || digest.algorithm.function == function,
            let path = try? RelativePath(entry.path), caller.maySee(path),
            entry.isDurable || store.durability != .commit
        else { return nil }
        return CommitPipeline.StillStored(entry: entry, path: path, digest: digest)
    }

    /// - Parameter version: the version of the file at the path now.
    private func isKept(_ promised: CommitPipeline.StillStored, _ version: ContentVersion, hasRotten: Bool) -> Bool {
        holds(promised.entry.version, as: version) && (!hasRotten || !known.mayBeRotten(version))
    }

    /// Whether what was recorded of a file still holds.
    ///
    /// - Parameters:
    ///   - known: the recorded version.
    ///   - found: the version at the path.
    func holds(_ known: ContentVersion?, as found: ContentVersion) -> Bool {
        guard let known else { return false }
        return found == known || store.isAboutToGiveWay(found, knownAs: known)
    }

    /// The earlier acknowledgement of a mail, if all recipients have received it or still can. If a recipient has
    /// declined it or has let it expire, the mail is delivered again.
    ///
    /// - Parameter path: the path that the sender names now.
    func stillDelivered(_ intent: UploadIntent, at path: RelativePath) throws(Failure) -> CommitPipeline.StillDelivered?
    {
        let deliveries = try mail.knownDeliveries(of: intent.id)
        guard let mail = deliveries.first?.mail, mail.digest.algorithm.function == intent.function else { return nil }
        let states = Dictionary(deliveries.map { (PathKey($0.recipient), $0.state) }) { first, _ in first }
        for name in intent.recipients {
            guard let state = states[PathKey(name)], state.isOpen || state == .delivered else { return nil }
        }
        let isThere = !mail.isRotten && store.version(at: mail.path)?.size == mail.size
        guard isThere || !states.values.contains(where: \.isOpen) else { return nil }
        return CommitPipeline.StillDelivered(mail, at: path, isDurable: store.durability == .commit)
    }
}

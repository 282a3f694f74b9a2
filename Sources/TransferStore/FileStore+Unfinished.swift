internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferSystem

/// Parts of uploads that are not complete. They lie in the incoming directory under the uploads' ids until the upload is
/// published, taken back, or too old.
extension FileStore {
    /// How many there may be: what is listed in a few milliseconds.
    package static let mostParts = 16_384

    /// The part of an upload, with what has arrived of it before, perhaps under an earlier server. Whoever asks must see
    /// to it that nobody else has it.
    ///
    /// - Parameters:
    ///   - size: what the client declared, or nothing; its space is reserved.
    ///   - filled: as in `stage`.
    ///   - quota: of the client, where it has one.
    package func resume(
        id: UploadID, size: UInt64?, filled: UInt64? = nil, quota: Quota? = nil
    ) throws(Failure) -> StagedFile {
        let hold = SpaceHold(space, client: quota, part: id)
        let quotas = [space?.quota, quota].compactMap(\.self)
        let before = quotas.map { $0.size(ofPart: id) }
        if let size { try hold?.grow(to: size) }
        do throws(Failure) {
            // Before anything is made or reserved, which would stay with what is another upload's.
            if try isAppend(id) { throw .taken }
            let staged = try openPart(id)
            staged.hold = hold
            if let size { try reserve(size, filled, forPart: staged) }
            return staged
        } catch {
            // What has arrived before stays, where it has not just lost its name here; the promise of more does not.
            let isThere = hasPart(id)
            for (quota, size) in zip(quotas, before) { quota.release(part: id, but: isThere ? size : 0) }
            throw error
        }
    }

    package func part(_ id: UploadID) -> UnfinishedPart? {
        (try? incoming.directory.status(StagedFile.resumableName(id)))?.map { status in
            UnfinishedPart(size: status.sizeOfPart, written: FileIdentity(status).modified)
        }
    }

    private func reserve(_ size: UInt64, _ filled: UInt64?, forPart staged: StagedFile) throws(Failure) {
        do throws(Failure) {
            try reserve(size, filled, for: staged)
        } catch {
            // Whoever asks for more than there is must leave nothing: neither a name nor room.
            if staged.isNew { staged.discard() }
            throw error
        }
    }

    /// - Throws: `busy` for a new one, when there are as many as may be.
    private func openPart(_ id: UploadID) throws(Failure) -> StagedFile {
        let found = try attempt("open the part of the upload") { () throws(SystemError) in
            try StagedFile.resumable(id: id, in: incoming)
        }
        if let found { return found }
        guard incoming.parts.load(ordering: .relaxed) < Self.mostParts else {
            throw Failure(.busy, "The server keeps as many unfinished uploads as it can.")
        }
        return try attempt("make a part for the upload") { () throws(SystemError) in
            try StagedFile.newResumable(id: id, in: incoming)
        }
    }

    /// Whether there is a part of the upload that somebody could go on with, or what says that there was and what has become of
    /// it. One that cannot be looked at counts.
    package func hasPart(_ id: UploadID) -> Bool {
        hasName(StagedFile.resumableName(id)) || hasName(AppendSheet.name(id))
    }

    /// The same without what says what has become of it.
    func hasResumable(_ id: UploadID) -> Bool { hasName(StagedFile.resumableName(id)) }

    private func hasName(_ name: String) -> Bool {
        do throws(SystemError) {
            return try incoming.directory.status(name) != nil
        } catch {
            return true
        }
    }

    /// Throws the part of an upload away, if there is one. Whoever asks must see to it that nobody else has it.
    package func removePart(_ id: UploadID) throws(Failure) {
        try attempt("remove the part of the upload") { () throws(SystemError) in
            do throws(SystemError) {
                try incoming.directory.unlink(StagedFile.resumableName(id))
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
            } catch {
                guard error.errno == ENOENT else { throw error }
            }
        }
        removeSheet(id)
        space?.quota?.release(part: id)
    }

    /// What there is of unfinished uploads.
    package func unfinished() throws(Failure) -> UnfinishedContent {
        var found = UnfinishedContent()
        try forEachPart { name, status in
            found.count += 1
            found.bytes = found.bytes.addingClamped(status.space)
        }
        return found
    }

    /// Removes what nobody can resume: parts that no upload's id stands for, which a server that died has left, and second names
    /// of what was published. A power cut may leave those where the file system has no journal. They go before anything else
    /// happens: once another file has replaced the published one, nothing tells its second name from a part.
    ///
    /// Call it before the first upload.
    package func removeLeftovers() throws(Failure) -> UnfinishedContent {
        try restoreAppend()
        let removed = Result { () throws(Failure) in
            try removeParts { name, _ in StagedFile.upload(ofPart: name) == nil }
        }
        // A part may have had one of those names, too. With a second name nothing goes that takes room.
        _ = try removeParts { _, status in status.st_nlink > 1 }
        return try removed.get()
    }

    /// Removes unfinished uploads that nothing was added to for long.
    ///
    /// - Parameters:
    ///   - isOld: whether what was written last at a moment goes: seconds since 1970.
    ///   - isInUse: whether somebody works on the upload.
    package func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent {
        try removeSheets(where: isOld, unless: isInUse)
        return try removeParts { name, status in
            guard isOld(status.st_mtim.tv_sec), let id = StagedFile.upload(ofPart: name) else { return false }
            return !isInUse(id)
        }
    }

    /// - Throws: when all have been tried, why the first of them could not be removed.
    private func removeParts(where isUseless: (String, stat) -> Bool) throws(Failure) -> UnfinishedContent {
        var removed = UnfinishedContent()
        var failure: SystemError?
        try forEachPart { name, status in
            guard isUseless(name, status) else { return }
            do throws(SystemError) {
                if status.isDirectory {
                    try incoming.directory.disk.removeDirectory(incoming.directory.number, name)
                } else {
                    try incoming.directory.unlink(name)
                }
            } catch {
                failure = failure ?? error
                return
            }
            if let id = StagedFile.upload(ofPart: name) {
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                // What has another name, too, was published: the sheet says what it has become, until its end is noted.
                if status.st_nlink <= 1 || (try? isWhole(id)) == false { removeSheet(id) }
                space?.quota?.release(part: id)
            } else if let id = StagedFile.upload(ofWithdrawn: name) {
                // A power cut may have left the name that it had before, too.
                space?.quota?.release(part: id, but: self.part(id)?.size ?? 0)
            }
            removed.count += 1
            removed.bytes = removed.bytes.addingClamped(status.space)
        }
        if let failure { throw Failure(failure, doing: "remove parts that nobody can go on with") }
        return removed
    }

    private func forEachPart(_ body: (String, stat) throws(SystemError) -> Void) throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            for name in try incoming.directory.names() where name.hasSuffix(StagedFile.partSuffix) {
                if let status = try incoming.directory.status(name) { try body(name, status) }
            }
        }
    }
}

extension stat {
    /// Bytes on disk (stat(3type), st_blocks).
    var space: UInt64 {
        let (bytes, overflow) = UInt64(clamping: st_blocks).multipliedReportingOverflow(by: 512)
        return overflow ? .max : bytes
    }
}

internal import CLinux
import Glibc
import Synchronization
import TransferCodec
package import TransferModel
import TransferPorts
import TransferSystem

/// Reads the bytes that a part already has. Only the bytes that can be read now count.
extension StagedFile {
    /// Bytes that are read at once.
    private static let readSize = 256 << 10

    /// Begins a survey of the blocks that have arrived.
    ///
    /// - Parameter total: the size of the upload, whose last block may be short; nil if it is unknown.
    /// - Throws: if the file cannot be examined.
    package func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> BlockSurvey {
        let size = try attempt("read the stored part") { () throws(SystemError) in try self.size() }
        return BlockSurvey(self, size: size, total: total, function)
    }

    private func size() throws(SystemError) -> UInt64 {
        UInt64(max(0, try disk.status(number).st_size))
    }

    /// - Returns: nil if the whole range cannot be read.
    package func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        (try? readDigest(of: range, function)) ?? nil
    }

    /// - Returns: nil if the file ends before the range does.
    /// - Throws: the error of read(2).
    func readDigest(of range: Range<UInt64>, _ function: DigestFunction) throws(SystemError) -> [UInt8]? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let hasher = BlockHasher(function)
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(range.upperBound - position)))
            let count = try disk.read(number, into: wanted, at: position)
            guard count > 0 else { return nil }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            position += UInt64(count)
        }
        return hasher.finish()
    }

    /// Cuts off bytes that an earlier attempt has left beyond the end.
    package func trim(to size: UInt64) throws(Failure) {
        try attempt("set the size of the file") { () throws(SystemError) in
            guard try self.size() > size else { return }
            try disk.truncate(number, to: size)
        }
    }
}

extension StagedFile {
    /// Whether the content has a digest. The content is read only if the digest has another function than the
    /// publication's.
    func has(_ expected: Digest, _ publication: Publication) throws(Failure) -> Bool {
        guard expected.algorithm.function != publication.digest.algorithm.function else {
            return expected == publication.digest
        }
        return try attempt("read the stored part") { () throws(SystemError) in
            try digest(expected.algorithm.function) == expected
        }
    }

    private func digest(_ function: DigestFunction) throws(SystemError) -> Digest {
        let digester = ContentDigester(function)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            let count = try disk.read(number, into: buffer, at: digester.size)
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}

/// Holes: zeros that the client sends as ranges, and that take no room if the file system supports holes.
extension StagedFile {
    /// Clears a range, whatever it contained, and extends the file to the end of the range. If not all of it can be
    /// cleared, an error is thrown.
    package func clear(_ range: Range<UInt64>) throws(Failure) {
        guard !range.isEmpty else { return }
        try hold?.grow(to: range.upperBound)
        let isClear = try attempt("leave a hole in the content") { () throws(SystemError) in
            guard range.upperBound <= UInt64(off_t.max) else { throw SystemError(errno: EFBIG, call: "ftruncate") }
            return try inTurn { () throws(SystemError) in try makeHole(range) }
        }
        guard !isClear else { return }
        var position = range.lowerBound
        while position < range.upperBound {
            let zeros = ZeroBytes.prefix(Int(min(UInt64(ZeroBytes.count), range.upperBound - position)))
            try write(zeros, at: position)
            position += UInt64(zeros.count)
        }
    }

    /// To be called by one thread at a time: extending the file must not shorten what another thread has extended.
    ///
    /// - Returns: false if the file system cannot punch holes.
    private func makeHole(_ range: Range<UInt64>) throws(SystemError) -> Bool {
        let size = UInt64(clamping: try disk.status(number).st_size)
        if size < range.upperBound { try disk.truncate(number, to: range.upperBound) }
        // No bytes were ever written to the range.
        if isNew, !isReserved, size <= range.lowerBound { return true }
        do throws(SystemError) {
            try disk.clear(number, range)
            return true
        } catch {
            guard [EOPNOTSUPP, ENOSYS, EPERM].contains(error.errno) else { throw error }
            return false
        }
    }
}

/// A failed sync leaves bytes in memory that the disk does not have, and a comparison cannot detect that. So a part is
/// withdrawn before it is synced: whatever happens to the sync or to the removal of the part, this server never resumes
/// it. If the process dies, the next server resumes a copy of it.
extension StagedFile {
    /// Renames the part to a name under which it cannot be resumed.
    ///
    /// - Throws: the error of rename(2); then the part is unchanged, and must not be synced.
    func withdraw(id: UploadID) throws(SystemError) {
        guard case .resumable(let name) = place else { return }
        var number = 0
        while true {
            let other = Self.withdrawnName(id, number)
            do throws(SystemError) {
                try move(name, to: other)
                place = .withdrawn(other, from: name)
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                return
            } catch {
                guard error.errno == EEXIST else { throw error }
                number += 1
            }
        }
    }

    /// Keeps a part whose content is durable but which could not be published for another reason: the client resumes it
    /// when it sends the upload again. Discards anything that cannot be resumed.
    func discardUnlessResumable() {
        switch place {
        case .resumable, .none: return
        case .anonymous, .named: return discard()
        case .withdrawn(let other, let name):
            do throws(SystemError) {
                try move(other, to: name)
                place = .resumable(name)
                // The file already has the upload's attributes. A part must be writable, and its time says when it was
                // last used.
                try? disk.set(number, permissions: 0o600, modified: .now, nil)
                incoming.parts.wrappingAdd(1, ordering: .relaxed)
            } catch {
                discard()
            }
        }
    }

    private func move(_ old: String, to new: String) throws(SystemError) {
        let folder = incoming.directory
        do throws(SystemError) {
            try disk.renameToFreeName(folder.number, old, to: (folder.number, new))
        } catch {
            // The file system lacks the flag (rename(2)).
            guard error.errno == EINVAL else { throw error }
            try link(into: folder, as: new)
            try folder.unlink(old)
        }
    }
}

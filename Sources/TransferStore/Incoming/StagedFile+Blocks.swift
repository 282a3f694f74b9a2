internal import CLinux
import Glibc
import Synchronization
import TransferCodec
package import TransferModel
import TransferPorts
import TransferSystem

/// What a part has of its upload already. Nothing is known of it but its bytes, and these only as they are read now.
extension StagedFile {
    /// Bytes read at once.
    private static let readSize = 256 << 10

    /// Begins to look for the blocks that are there.
    ///
    /// - Parameter total: bytes of the upload, where they are known: the last block may be short.
    /// - Throws: when nothing can be said of the file at all.
    package func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> BlockSurvey {
        let size = try attempt("read what has arrived before") { () throws(SystemError) in try self.size() }
        return BlockSurvey(self, size: size, total: total, function)
    }

    private func size() throws(SystemError) -> UInt64 {
        UInt64(max(0, try disk.status(number).st_size))
    }

    /// - Returns: nothing when there is no more data.
    func seek(_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64? {
        do throws(SystemError) {
            return try disk.seek(number, from: position, whence)
        } catch {
            guard error.errno == ENXIO else { throw error }
            return nil
        }
    }

    /// - Returns: nil when the range cannot be read, or not all of it.
    package func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        (try? readDigest(of: range, function)) ?? nil
    }

    /// - Returns: nil where the file ends before the range does.
    /// - Throws: what read(2) says.
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

    /// Cuts off what an earlier attempt has left behind the end.
    package func trim(to size: UInt64) throws(Failure) {
        try attempt("set the size of the file") { () throws(SystemError) in
            guard try self.size() > size else { return }
            try disk.truncate(number, to: size)
        }
    }
}

extension StagedFile {
    /// Whether all of it has a digest. It is only read where that was made by another function than the publication's.
    func has(_ expected: Digest, _ publication: Publication) throws(Failure) -> Bool {
        guard expected.algorithm.function != publication.digest.algorithm.function else {
            return expected == publication.digest
        }
        return try attempt("read what arrived") { () throws(SystemError) in
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

/// Zeros that nobody has sent one by one, and that take no room where the file system can leave them out.
extension StagedFile {
    /// Makes a range zeros, whatever it was before, and the file so long that it has them; all of it or an error.
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

    /// To be called by one thread at a time: the file becomes longer, and never shorter than another one has made it.
    ///
    /// - Returns: false where the file system makes no holes in what is there.
    private func makeHole(_ range: Range<UInt64>) throws(SystemError) -> Bool {
        let size = UInt64(clamping: try disk.status(number).st_size)
        if size < range.upperBound { try disk.truncate(number, to: range.upperBound) }
        // Nothing was ever there.
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

/// A sync that fails leaves bytes in memory that the disk does not have, and nobody who compares can tell. So a part is
/// withdrawn before it is synced: whatever becomes of the sync, of the call that should remove the part, or of the process,
/// nobody goes on with it.
extension StagedFile {
    /// Gives the part a name that no upload stands for, which the next server removes.
    ///
    /// - Throws: what rename(2) says; then it is as it was, and must not be synced.
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

    /// Its content is durable and it could not be published for another reason: whoever sends the upload again goes on with
    /// it. Anything else that nobody can go on with is thrown away.
    func discardUnlessResumable() {
        switch place {
        case .resumable, .none: return
        case .anonymous, .named: return discard()
        case .withdrawn(let other, let name):
            do throws(SystemError) {
                try move(other, to: name)
                place = .resumable(name)
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

import Glibc
import TransferPorts
package import TransferStore
import TransferSystem

extension DiskRecording {
    /// Records the effects of a call.
    ///
    /// - Parameter result: the result of the call, which has taken place.
    package mutating func add(_ call: DiskCall, _ result: Int) {
        // A sync that a signal interrupted has neither succeeded nor failed.
        if result == -Int(EINTR) { return }
        guard result >= 0 else {
            switch call {
            case .sync(let number): effects.append(.failedSync(Self.object(number)))
            case .syncAll: effects.append(.failedSync(nil))
            default: break
            }
            return
        }
        switch call {
        case .open(let directory, let name, let flags):
            guard flags & O_CREAT != 0, let file = Self.object(Int32(result)) else { return }
            add(file, directory, name)
        case .makeDirectory(let directory, let name):
            guard let made = Self.object(directory, name) else { return }
            directories.insert(made)
            add(made, directory, name)
        case .write(let file, let bytes, let offset), .copy(let file, let bytes, let offset):
            guard let file = Self.object(file) else { return }
            let written = Array(UnsafeRawBufferPointer(rebasing: bytes.prefix(result)))
            effects.append(.write(file, offset: Int(offset), bytes: written))
        case .clear(let file, let range):
            // The call clears only the part of the range that is in the file, which keeps its size.
            guard let object = Self.object(file), let size = Self.size(file), range.lowerBound < size else { return }
            let zeros = [UInt8](repeating: 0, count: Int(min(range.upperBound, size) - range.lowerBound))
            effects.append(.write(object, offset: Int(range.lowerBound), bytes: zeros))
        case .truncate(let file, let size):
            guard let file = Self.object(file) else { return }
            effects.append(.truncate(file, size: Int(size)))
        case .link(let file, let directory, let name):
            guard let file = Self.object(file) else { return }
            add(file, directory, name)
        case .linkName(_, _, let directory, let newName):
            guard let file = Self.object(directory, newName) else { return }
            add(file, directory, newName)
        case .rename(let from, let name, let directory, let newName, _):
            guard let file = Self.object(directory, newName) else { return }
            add(file, directory, newName)
            remove(from, name)
        case .exchange(let directory, let name, let other, let otherName):
            guard let object = Self.object(directory, name), let otherObject = Self.object(other, otherName) else {
                return
            }
            add(otherObject, other, otherName)
            add(object, directory, name)
        case .unlink(let directory, let name), .removeDirectory(let directory, let name): remove(directory, name)
        case .sync(let number): if let object = Self.object(number) { effects.append(.sync(object)) }
        case .syncAll: effects.append(.syncAll)
        case .makeLink(let directory, let name):
            guard let made = Self.object(directory, name) else { return }
            add(made, directory, name)
        // Clones are not recorded: the recording would have to know what the file system has done.
        case .clone: break
        case .status, .examine, .read, .seek, .reserve, .release, .setTimes, .setPermissions, .startWriting,
            .checkWritten, .setOwner, .setExtended, .setLink, .readLink:
            break
        }
    }

    /// Records a call in which the process dies, so that no program learns its result. Bytes that it was to sync count
    /// as lost, as if the sync had failed. Names do not: a file system whose journal could not be written does not
    /// write the journal any more, and the next sync fails, too.
    package mutating func addDeath(in call: DiskCall) {
        switch call {
        case .sync(let number):
            guard let object = Self.object(number), !directories.contains(object) else { return }
            effects.append(.failedSync(object))
        case .syncAll: effects += Self.failedSyncs(of: effects)
        default: break
        }
    }

    private mutating func add(_ object: Object, _ directory: Int32, _ name: String) {
        guard let directory = Self.object(directory) else { return }
        effects.append(.name(object, Entry(directory: directory, name: name)))
    }

    private mutating func remove(_ directory: Int32, _ name: String) {
        guard let directory = Self.object(directory) else { return }
        effects.append(.remove(Entry(directory: directory, name: name)))
    }

    private static func object(_ number: Int32) -> Object? {
        var status = stat()
        return fstat(number, &status) == 0 ? status.st_ino : nil
    }

    private static func size(_ number: Int32) -> UInt64? {
        var status = stat()
        return fstat(number, &status) == 0 ? UInt64(clamping: status.st_size) : nil
    }

    private static func object(_ directory: Int32, _ name: String) -> Object? {
        var status = stat()
        return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : nil
    }
}

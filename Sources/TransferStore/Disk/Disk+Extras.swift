internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferPorts
package import TransferSystem

/// The calls for owners, extended attributes and links.
extension Disk {
    /// Sets the attributes of an open file or folder. The owner comes first, because changing it clears permission
    /// bits; extended attributes come before the permissions, which may forbid them; and the time comes last.
    ///
    /// The owner is set only by root, because other processes may not give files away.
    func set(
        _ file: Int32, permissions: mode_t?, modified: Timestamp?, _ extra: ExtraAttributes?
    ) throws(SystemError) {
        if let owner = extra?.owner, isRoot { try setOwner(file, owner) }
        if let extended = extra?.extended { try setExtended(file, extended) }
        if let permissions { try setPermissions(file, permissions) }
        guard let modified else { return }
        let access = timespec(tv_sec: 0, tv_nsec: clinux_utime_omit)
        let change = timespec(tv_sec: Int(clamping: modified.seconds), tv_nsec: Int(modified.nanoseconds))
        try setTimes(file, (access, change))
    }

    /// Sets a folder's times to their present values, so that a sync of the folder covers previous changes of links in
    /// it. A link cannot be synced by itself, and XFS writes its journal only up to the last change of what is synced
    /// (seen by shutting the file system down after a sync; ext4 writes all of it).
    ///
    /// If another process changes the folder at this moment, the folder may keep an older time. The times of another
    /// user's folder cannot be set.
    func renewTimes(_ folder: Int32) throws(SystemError) {
        let status = try status(folder)
        do throws(SystemError) {
            try setTimes(folder, (status.st_atim, status.st_mtim))
        } catch {
            guard error.errno == EPERM || error.errno == EROFS else { throw error }
        }
    }

    func setOwner(_ file: Int32, _ owner: ExtraAttributes.Owner) throws(SystemError) {
        try run("fchown", .setOwner(file)) { fchown(file, owner.user, owner.group) }
    }

    /// The extended attributes that are kept, in the order of their names; nil if the file system does not support
    /// them.
    ///
    /// - Throws: E2BIG if they exceed `ExtraAttributes.mostBytes`.
    func extended(_ file: Int32) throws(SystemError) -> [ExtraAttributes.Extended]? {
        do throws(SystemError) {
            var found: [ExtraAttributes.Extended] = []
            for name in try extendedNames(file) {
                guard let value = try extendedValue(file, name) else { continue }
                found.append(ExtraAttributes.Extended(name: name, value: value))
            }
            let kept = ExtraAttributes(extended: found)
            guard kept.encodedSize + 8 <= ExtraAttributes.mostBytes else {
                throw SystemError(errno: E2BIG, call: "flistxattr")
            }
            return kept.extended
        } catch {
            if [ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.errno) { return nil }
            throw error
        }
    }

    /// The size of the buffer for names, in bytes. Labels of security modules take some 20.
    private static let roomForNames = 512

    /// Whether an entry of a directory has no extended attribute to keep, as far as that is known without opening it
    /// (listxattrat(2), Linux 6.13), which would cost more than reading the names.
    ///
    /// - Returns: false also if it is unknown.
    func keepsNoExtended(_ directory: Int32, _ name: String) -> Bool {
        guard hasListAt.load(ordering: .relaxed) else { return false }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.roomForNames) { names in
            do throws(SystemError) {
                let count = try run("listxattrat", .examine(directory)) {
                    clinux_listxattrat(directory, name, names.baseAddress, names.count)
                }
                guard count > 0 else { return true }
                return Self.kept(names.prefix(count).map { UInt8(bitPattern: $0) }).isEmpty
            } catch {
                if error.errno == ENOSYS { hasListAt.store(false, ordering: .relaxed) }
                return false
            }
        }
    }

    private func extendedNames(_ file: Int32) throws(SystemError) -> [[UInt8]] {
        // XATTR_LIST_MAX (linux/limits.h): the most bytes of all names of a file.
        let names = try fill(64 << 10, "flistxattr", file) { clinux_flistxattr(file, $0, $1) }
        return Self.kept(names)
    }

    /// The names in a list, separated by zero bytes, that are kept.
    private static func kept(_ names: [UInt8]) -> [[UInt8]] {
        names.split(separator: 0).map(Array.init).filter { ExtraAttributes.Extended(name: $0, value: []).isKept }
    }

    /// - Returns: nil if the attribute is gone.
    private func extendedValue(_ file: Int32, _ name: [UInt8]) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            // XATTR_SIZE_MAX (linux/limits.h).
            return try fill(64 << 10, "fgetxattr", file) { buffer, count in
                Self.withName(name) { clinux_fgetxattr(file, $0, buffer, count) }
            }
        } catch {
            if error.errno == ENODATA { return nil }
            throw error
        }
    }

    /// Asks for the size first, because most files have no attributes.
    private func fill(
        _ most: Int, _ call: String, _ file: Int32, _ body: (UnsafeMutablePointer<CChar>?, Int) -> Int
    ) throws(SystemError) -> [UInt8] {
        let count = try run(call, .examine(file)) { body(nil, 0) }
        guard count > 0 else { return [] }
        var bytes = [CChar](repeating: 0, count: most)
        let read = try bytes.withUnsafeMutableBufferPointer { (bytes) throws(SystemError) in
            try run(call, .examine(file)) { body(bytes.baseAddress, bytes.count) }
        }
        return bytes.prefix(max(0, read)).map { UInt8(bitPattern: $0) }
    }

    /// Replaces the kept attributes of a file: sets those that differ, and removes the others.
    func setExtended(_ file: Int32, _ wanted: [ExtraAttributes.Extended]) throws(SystemError) {
        let present = try extended(file) ?? []
        let gone = present.filter { attribute in !wanted.contains { $0.name == attribute.name } }
        let new = wanted.filter { !present.contains($0) }
        guard !gone.isEmpty || !new.isEmpty else { return }
        let before = try lendWriting(file)
        defer { if let before { try? setPermissions(file, before) } }
        for attribute in gone {
            try run("fremovexattr", .setExtended(file, name: attribute.name)) {
                Self.withName(attribute.name) { clinux_fremovexattr(file, $0) }
            }
        }
        for attribute in new {
            try run("fsetxattr", .setExtended(file, name: attribute.name)) {
                Self.withName(attribute.name) { clinux_fsetxattr(file, $0, attribute.value, attribute.value.count) }
            }
        }
    }

    /// Setting extended attributes requires write permission, even if the file is open for writing. The owner grants it
    /// temporarily.
    ///
    /// - Returns: the permissions to restore; nil if they are unchanged.
    private func lendWriting(_ file: Int32) throws(SystemError) -> mode_t? {
        guard !isRoot else { return nil }
        let before = try status(file).st_mode & 0o7777
        guard before & 0o200 == 0 else { return nil }
        return try lend(before) { () throws(SystemError) in try setPermissions(file, before | 0o200) }
    }

    /// Grants the owner read permission on an entry temporarily.
    func lendReading(_ directory: Int32, _ name: String, _ status: stat) throws(SystemError) -> mode_t? {
        let before = status.st_mode & 0o7777
        guard !isRoot, before & 0o400 == 0 else { return nil }
        return try lend(before) { () throws(SystemError) in
            try setPermissions(directory, name, before | 0o400)
        }
    }

    /// Sets the permissions of an entry. No link is followed (fchmodat(3)).
    func setPermissions(_ directory: Int32, _ name: String, _ permissions: mode_t) throws(SystemError) {
        try run("fchmodat", .setLink(directory: directory, name: name)) {
            fchmodat(directory, name, permissions, AT_SYMLINK_NOFOLLOW)
        }
    }

    /// Grants a permission temporarily. A process that is not the owner may have the permission anyway; if not, the
    /// next call fails.
    private func lend<T>(
        _ before: mode_t, _ give: () throws(SystemError) -> T
    ) throws(SystemError) -> mode_t? {
        do throws(SystemError) {
            _ = try give()
            return before
        } catch {
            guard error.errno == EPERM else { throw error }
            return nil
        }
    }

    private static func withName<T>(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> T) -> T {
        let text = (name + [0]).map { CChar(bitPattern: $0) }
        return text.withUnsafeBufferPointer { buffer in
            // Trap: an array of one element at least has a place.
            guard let start = buffer.baseAddress else { preconditionFailure("a name without its end") }
            return body(start)
        }
    }
}

extension ExtraAttributes {
    /// The attributes of an open file.
    ///
    /// - Throws: E2BIG if its extended attributes exceed `mostBytes`.
    package init(of file: Int32, wantsOwner: Bool) throws(SystemError) {
        let disk = Disk()
        self.init(owner: wantsOwner ? try disk.status(file).owner : nil, extended: try disk.extended(file))
    }
}

/// The calls for symbolic links, none of which follows them.
extension Disk {
    /// - Throws: EINVAL if the target is empty or has a zero byte.
    func makeLink(_ directory: Int32, _ name: String, to target: [UInt8]) throws(SystemError) {
        guard !target.isEmpty, !target.contains(0) else { throw SystemError(errno: EINVAL, call: "symlinkat") }
        try run("symlinkat", .makeLink(directory: directory, name: name)) {
            Self.withName(target) { symlinkat($0, directory, name) }
        }
    }

    /// Reads the target of a symbolic link.
    func readLink(_ directory: Int32, _ name: String) throws(SystemError) -> [UInt8] {
        var bytes = [CChar](repeating: 0, count: Limits.path + 1)
        let count = try run("readlinkat", .readLink(directory: directory, name: name)) {
            bytes.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.map { readlinkat(directory, name, $0, buffer.count) } ?? 0
            }
        }
        return bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
    }

    func setLinkTime(_ directory: Int32, _ name: String, _ modified: Timestamp) throws(SystemError) {
        let times = (
            timespec(tv_sec: 0, tv_nsec: clinux_utime_omit),
            timespec(tv_sec: Int(clamping: modified.seconds), tv_nsec: Int(modified.nanoseconds))
        )
        _ = try withUnsafeBytes(of: times) { (times) throws(SystemError) in
            try run("utimensat", .setLink(directory: directory, name: name)) {
                utimensat(
                    directory, name, times.assumingMemoryBound(to: timespec.self).baseAddress, AT_SYMLINK_NOFOLLOW)
            }
        }
    }

    func setLinkOwner(
        _ directory: Int32, _ name: String, _ owner: ExtraAttributes.Owner
    ) throws(SystemError) {
        try run("fchownat", .setLink(directory: directory, name: name)) {
            fchownat(directory, name, owner.user, owner.group, AT_SYMLINK_NOFOLLOW)
        }
    }
}

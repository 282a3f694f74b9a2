import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The new directories that could not be synced, in a file that a restarted server reads. It need not survive a crash
/// of the machine, because then these directories exist only if they are on disk.
struct DoubtedList: Sendable {
    private static let prefix = "unsynced-"

    /// The most bytes of the file.
    private static let mostBytes = DurableDirectories.most * (RelativePath.mostTrashBytes + 1) + 32

    private let folder: DoubtFolder
    private let name: String

    /// - Parameters:
    ///   - folder: processes that share it have one list.
    ///   - boot: the boot ID (`BootID`); lists of other boots are removed.
    init(in folder: DoubtFolder, boot: String) throws(SystemError) {
        self.folder = folder
        name = Self.prefix + boot
        guard boot != BootID.unknown, let directory = try folder.openIfThere() else { return }
        for found in try directory.names() where found.hasPrefix(Self.prefix) && found != name {
            if found != Self.prefix + BootID.unknown { try? directory.unlink(found) }
        }
    }

    /// - Returns: nil if there is a list that cannot be read; then every directory is in doubt.
    func read() -> [RelativePath]? {
        do throws(SystemError) {
            guard let folder = try folder.openIfThere() else { return [] }
            // Without the lock, another process could write the list meanwhile.
            try lock(folder, LOCK_SH)
            return try read(in: folder)
        } catch {
            return nil
        }
    }

    private func read(in folder: DirectoryHandle) throws(SystemError) -> [RelativePath]? {
        try folder.status(name) == nil ? [] : Self.parse(try content(in: folder))
    }

    /// Waits for other processes that use the list. Closing the handle releases the lock.
    private func lock(_ handle: DirectoryHandle, _ operation: Int32) throws(SystemError) {
        guard folder.isShared else { return }
        try system("flock") { flock(handle.number, operation) }
    }

    private func content(in folder: DirectoryHandle) throws(SystemError) -> [UInt8] {
        let file = try folder.openFile(name, flags: O_RDONLY | O_NONBLOCK)
        return try folder.disk.readAll(file.number, most: Self.mostBytes + 1)
    }

    /// Parses the number of bytes that follow, a line feed, and the paths, each followed by a zero byte.
    private static func parse(_ content: [UInt8]) -> [RelativePath]? {
        guard let end = content.firstIndex(of: UInt8(ascii: "\n")), content.count <= mostBytes else { return nil }
        let body = content[(end + 1)...]
        guard Int(String(decoding: content[..<end], as: UTF8.self)) == body.count, body.last ?? 0 == 0 else {
            return nil
        }
        var paths: [RelativePath] = []
        for path in body.dropLast().split(separator: 0, omittingEmptySubsequences: false) {
            // The store also creates folders that no client names, for the trash and for mail. A path that cannot be
            // parsed puts all folders in doubt, and the server out of service.
            guard let text = String(validating: path, as: UTF8.self), let path = RelativePath(own: text) else {
                return nil
            }
            paths.append(path)
        }
        return paths
    }

    /// Writes the list, as far as the disk permits, which has just failed. A truncated list means that everything is in
    /// doubt.
    ///
    /// - Parameters:
    ///   - paths: all paths that this process doubts; nil if they are too many to remember.
    ///   - added: the paths that are new among them. In a shared folder this process does not know the paths of
    ///     others, so only these are added to the list, and only `removed` is removed.
    func write(_ paths: Set<RelativePath>?, added: [RelativePath] = [], removed: RelativePath? = nil) {
        do throws(SystemError) {
            let folder = try folder.openOrMake()
            try lock(folder, LOCK_EX)
            defer { withExtendedLifetime(folder) {} }
            var paths = paths
            if self.folder.isShared, paths != nil { paths = try merged(added, removed, in: folder) }
            if let paths, paths.isEmpty { return try folder.unlink(name) }
            let file = try folder.openFile(name, flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
            guard let paths else { return }
            try write(paths, to: file, on: folder.disk)
        } catch {
            return
        }
    }

    /// - Returns: the paths that all processes doubt; nil if everything is in doubt, or there are too many to
    ///   remember.
    private func merged(
        _ added: [RelativePath], _ removed: RelativePath?, in folder: DirectoryHandle
    ) throws(SystemError) -> Set<RelativePath>? {
        guard var paths = try read(in: folder).map({ Set($0) }) else { return nil }
        if let removed { paths.remove(removed) }
        paths.formUnion(added)
        return paths.count > DurableDirectories.most ? nil : paths
    }

    private func write(
        _ paths: Set<RelativePath>, to file: borrowing Descriptor, on disk: Disk
    ) throws(SystemError) {
        var body: [UInt8] = []
        for path in paths { body += Array(path.string.utf8) + [0] }
        let content = Array("\(body.count)\n".utf8) + body
        try disk.writeAll(file.number, content)
    }
}

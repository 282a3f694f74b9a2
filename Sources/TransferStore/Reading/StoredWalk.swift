internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Walks through all directories except Transfer's own, one after the other. Holds the names of one directory, and the
/// paths of those still to be opened.
struct StoredWalk: Sendable {
    /// An entry that the walk finds.
    enum Item: Sendable {
        case file(Place)
        /// A file with a name that no upload can have. Bytes of the path that are not UTF-8 are replaced.
        case foreign(path: String, size: UInt64)
        /// A directory, or an entry of one, that cannot be examined.
        case unreadable(path: String, reason: String)
        /// Anything other than a file, or a directory that can contain uploads.
        case other
    }

    /// A file that was found, with its directory.
    struct Place: Sendable {
        let path: RelativePath
        /// The size of the file in bytes.
        let size: UInt64
        let directory: DirectoryHandle
    }

    private let tree: DirectoryTree
    private var waiting: [RelativePath?]
    private var current: (directory: DirectoryHandle, path: RelativePath?, names: [[UInt8]])?

    /// - Parameter folder: the folder to begin at; nil for the whole directory.
    init(_ tree: DirectoryTree, from folder: RelativePath? = nil) {
        self.tree = tree
        waiting = [folder]
    }

    mutating func next() -> Item? {
        while true {
            if let name = current?.names.popLast() {
                if let item = item(name) { return item }
                continue
            }
            current = nil
            guard let path = waiting.popLast() else { return nil }
            do throws(SystemError) {
                let directory = try tree.open(path)
                current = (directory, path, try directory.rawNames())
            } catch {
                if error.errno == ENOENT { continue }
                return .unreadable(path: path?.string ?? ".", reason: error.description)
            }
        }
    }

    /// - Returns: nil if the entry is gone, is Transfer's own, or is a directory to be opened later.
    private mutating func item(_ name: [UInt8]) -> Item? {
        guard let (directory, parent, _) = current else { return nil }
        let last = String(decoding: name, as: UTF8.self)
        let shown = (parent.map { $0.string + "/" } ?? "") + last
        if RelativePath.isReserved(last) { return nil }
        let found: stat?
        do throws(SystemError) {
            found = try directory.status(name)
        } catch {
            return .unreadable(path: shown, reason: error.description)
        }
        guard let status = found else { return nil }
        let path = String(validating: name, as: UTF8.self).flatMap { RelativePath.child($0, of: parent) }
        let size = UInt64(max(0, status.st_size))
        guard let path else { return status.isFile ? .foreign(path: shown, size: size) : .other }
        if status.isFile { return .file(Place(path: path, size: size, directory: directory)) }
        guard status.isDirectory else { return .other }
        waiting.append(path)
        return nil
    }
}

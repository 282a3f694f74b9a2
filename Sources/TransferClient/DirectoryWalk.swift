internal import CLinux
import Glibc
import TransferProtocol
import TransferSystem

/// Walks a directory tree from the top down, each directory in the order of its names, and holds only the names of the
/// directories that it is in.
struct DirectoryWalk {
    /// What was found.
    enum Found {
        case file(path: String, relative: String)
        /// Neither sent nor entered; the failure says why.
        case skipped(path: String, LocalFailure)
    }

    private struct Level {
        let path: String
        let relative: String
        var entries: [(name: String?, shown: String, type: FileType)]
    }

    private var levels: [Level] = []
    private var pending: [Found] = []

    /// - Parameters:
    ///   - path: of the directory.
    ///   - relative: put before the names of what is found.
    init(path: String, relative: String) {
        enter(path, relative)
    }

    mutating func next() -> Found? {
        if let found = pending.popLast() { return found }
        while let top = levels.indices.last {
            guard let entry = levels[top].entries.popLast() else {
                levels.removeLast()
                continue
            }
            let (path, relative) = (levels[top].path, levels[top].relative)
            guard let name = entry.name else {
                let failure = LocalFailure(code: .sourceUnreadable, message: "Its name is not UTF-8; rename it.")
                return .skipped(path: "\(path)/\(entry.shown)", failure)
            }
            switch entry.type {
            case .regular: return .file(path: "\(path)/\(name)", relative: "\(relative)/\(name)")
            case .directory:
                enter("\(path)/\(name)", "\(relative)/\(name)")
                if let found = pending.popLast() { return found }
            case let type: return .skipped(path: "\(path)/\(name)", .special(type.description))
            }
        }
        return nil
    }

    private mutating func enter(_ path: String, _ relative: String) {
        guard let stream = opendir(path) else {
            pending.append(.skipped(path: path, .unreadable(SystemError(errno: errno, call: "opendir"))))
            return
        }
        defer { closedir(stream) }
        var level = Level(path: path == "/" ? "" : path, relative: relative, entries: [])
        while let entry = readdir(stream) {
            let (name, shown) = Self.name(entry)
            guard shown != ".", shown != ".." else { continue }
            level.entries.append((name, shown, Self.type(entry, in: stream)))
        }
        level.entries.sort { $0.shown > $1.shown }
        levels.append(level)
    }

    private static func name(_ entry: UnsafeMutablePointer<dirent>) -> (String?, shown: String) {
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                (String(validatingCString: $0), String(cString: $0))
            }
        }
    }

    /// Most file systems tell the type with the name; the others are asked.
    private static func type(_ entry: UnsafeMutablePointer<dirent>, in stream: OpaquePointer) -> FileType {
        switch Int(entry.pointee.d_type) {
        case DT_REG: return .regular
        case DT_DIR: return .directory
        case DT_LNK: return .symbolicLink
        case DT_FIFO: return .fifo
        case DT_SOCK: return .socket
        case DT_CHR, DT_BLK: return .device
        default:
            var status = stat()
            let code = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    fstatat(dirfd(stream), $0, &status, AT_SYMLINK_NOFOLLOW)
                }
            }
            return code == 0 ? FileType(mode: status.st_mode) : .unknown
        }
    }
}

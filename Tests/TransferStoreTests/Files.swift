import CLinux
import Glibc
import TransferSystem
import TransferTestSupport

/// The file system as other processes see it, without the store.
enum Files {
    /// A system call that a test needs has failed.
    struct Failure: Error {
        let errno: Int32
        let call: String
    }

    static func check(_ call: String, _ result: some SignedInteger) throws {
        if result < 0 { throw Failure(errno: errno, call: call) }
    }

    static func read(_ path: String) -> [UInt8]? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return nil }
        let file = Descriptor(number)
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(file.number, &buffer, buffer.count)
            guard count > 0 else { return count == 0 ? content : nil }
            content += buffer[..<count]
        }
    }

    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws {
        let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        try check("open", number)
        let file = Descriptor(number)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            try check("write", count)
            rest = rest.dropFirst(count)
        }
    }

    static func makeDirectory(_ path: String) throws { try check("mkdir", mkdir(path, 0o755)) }

    static func makeSymlink(_ path: String, to target: String) throws { try check("symlink", symlink(target, path)) }

    static func makeFIFO(_ path: String) throws { try check("mkfifo", mkfifo(path, 0o600)) }

    /// The status of the name itself, not of the target of a link.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    /// The file type, for example `S_IFREG` or `S_IFDIR`.
    static func type(_ path: String) -> mode_t? { status(path).map { $0.st_mode & S_IFMT } }

    /// The mode without the file type.
    static func mode(_ path: String) -> mode_t? { status(path).map { $0.st_mode & 0o7777 } }

    static func names(_ path: String) -> Set<String> { Set(TransferTestSupport.names(in: path)) }

    /// All paths below `path`; directories end with a slash.
    static func tree(_ path: String, under prefix: String = "") -> Set<String> {
        var found: Set<String> = []
        for name in names(path) {
            let isDirectory = type(path + "/" + name) == S_IFDIR
            found.insert(prefix + name + (isDirectory ? "/" : ""))
            if isDirectory { found.formUnion(tree(path + "/" + name, under: prefix + name + "/")) }
        }
        return found
    }

    /// Descriptors of this process for `path` or a path below it, also for deleted files.
    static func descriptors(below path: String) -> [String] {
        names("/proc/self/fd").compactMap { name in
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/self/fd/\(name)", &buffer, buffer.count)
            guard count > 0 else { return nil }
            let target = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            return target == path || target.hasPrefix(path + "/") ? target : nil
        }
    }
}

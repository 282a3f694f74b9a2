import Glibc
import TransferTestSupport

/// File system calls for tests; an error fails the test.
enum Files {
    struct Failure: Error {
        let call: String
        let errno: Int32
    }

    static func check(_ code: Int32, _ call: String) throws {
        guard code >= 0 else { throw Failure(call: call, errno: errno) }
    }

    /// Writes a file, replacing its content, and makes the directories above it.
    static func write(_ path: String, _ bytes: [UInt8]) throws {
        try makeParent(path)
        let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try check(number, "open")
        defer { close(number) }
        try append(number, bytes)
    }

    static func write(_ path: String, _ text: String) throws {
        try write(path, Array(text.utf8))
    }

    /// Appends to an existing file.
    static func append(_ path: String, _ text: String) throws {
        let number = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        try check(number, "open")
        defer { close(number) }
        try append(number, Array(text.utf8))
    }

    private static func append(_ number: Int32, _ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            try check(Int32(clamping: count), "write")
            rest = rest.dropFirst(count)
        }
    }

    static func makeDirectory(_ path: String) throws {
        guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
        guard errno == ENOENT else { throw Failure(call: "mkdir", errno: errno) }
        try makeParent(path)
        try check(mkdir(path, 0o755), "mkdir")
    }

    private static func makeParent(_ path: String) throws {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return }
        try makeDirectory(String(path[..<slash]))
    }

    /// The content; nil if the file cannot be read.
    static func read(_ path: String) -> [UInt8]? {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += buffer[..<count]
        }
    }

    /// All files below a directory, as relative paths, without the server's `.transfer`.
    static func tree(_ path: String, _ prefix: String = "") -> [String] {
        names(in: path).filter { $0 != ".transfer" }.flatMap { name in
            isDirectory("\(path)/\(name)") ? tree("\(path)/\(name)", "\(prefix)\(name)/") : [prefix + name]
        }.sorted()
    }

    /// Target of a symbolic link; nil if the path is not one.
    static func link(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: 4096)
        let count = readlink(path, &target, target.count)
        return count < 0 ? nil : String(decoding: target.prefix(count), as: UTF8.self)
    }
}

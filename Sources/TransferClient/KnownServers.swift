internal import CLinux
import Glibc
public import TransferKeys
import TransferProtocol
import TransferSystem

/// The list of servers whose keys are known: a file with a line for each, the address and the fingerprint.
public struct KnownServers: Sendable, Equatable {
    /// One of them.
    public struct Entry: Sendable, Equatable {
        /// As `ServerAddress.server` has it.
        public let address: String

        /// Of its key.
        public let fingerprint: KeyFingerprint

        /// Takes both as they are.
        public init(address: String, fingerprint: KeyFingerprint) {
            self.address = address
            self.fingerprint = fingerprint
        }
    }

    /// Why the list cannot be read or changed.
    public struct Fault: Error, Sendable, Equatable {
        /// A sentence that says what to do.
        public let message: String
    }

    /// More than a hundred times what the largest known lists of ssh have.
    private static let longestFile = 16 << 20

    /// The file.
    public let path: String

    /// - Parameter path: of the file; it and the folder it is in are made when they are needed.
    public init(path: String) {
        self.path = path
    }

    /// The user's own: `transfer/known_servers` below XDG_CONFIG_HOME, or below `.config` in HOME. Nothing without either.
    public static var standard: KnownServers? {
        ConfigurationFolder.path.map { KnownServers(path: "\($0)/known_servers") }
    }

    /// All of them, in the order of the file.
    public func entries() throws(Fault) -> [Entry] {
        try lines().compactMap(\.entry)
    }

    /// The key that is known for an address, or nothing.
    public func fingerprint(of address: String) throws(Fault) -> KeyFingerprint? {
        try entries().first { $0.address == address }?.fingerprint
    }

    /// Knows a server by this key, and by no other, from now on.
    public func add(_ entry: Entry) throws(Fault) {
        guard Self.isOneWord(entry.address) else { throw fault("cannot hold '\(entry.address.escapedForDisplay)'") }
        try change { lines in
            lines.removeAll { $0.entry?.address == entry.address }
            lines.append(Line(entry))
        }
    }

    /// Forgets a server.
    ///
    /// - Returns: whether it was known.
    @discardableResult
    public func remove(_ address: String) throws(Fault) -> Bool {
        guard try fingerprint(of: address) != nil else { return false }
        try change { lines in lines.removeAll { $0.entry?.address == address } }
        return true
    }

    /// Addresses of sockets can have any characters; the few with spaces or control characters cannot be kept, nor what
    /// would be a comment.
    private static func isOneWord(_ address: String) -> Bool {
        !address.isEmpty && address.utf8.first != UInt8(ascii: "#")
            && address.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}

// MARK: The file

extension KnownServers {
    /// A line, and what it says; comments and empty lines say nothing.
    private struct Line {
        /// Without its end.
        let bytes: ArraySlice<UInt8>
        var entry: Entry?

        init(_ entry: Entry) {
            bytes = Array("\(entry.address) \(entry.fingerprint)".utf8)[...]
            self.entry = entry
        }

        /// - Returns: nothing when it cannot be understood.
        init?(_ bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            // A file from another system may have two characters at the end of a line.
            let text = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard let first = words.first, first.first != UInt8(ascii: "#") else { return }
            guard words.count == 2, let address = String(validating: first, as: UTF8.self),
                KnownServers.isOneWord(address),
                let fingerprint = KeyFingerprint(String(decoding: words[1], as: UTF8.self))
            else { return nil }
            entry = Entry(address: address, fingerprint: fingerprint)
        }
    }

    /// A line that says something else than it was meant to could hide a key that has changed, so none is passed over.
    private func lines() throws(Fault) -> [Line] {
        let found = try reading { () throws(SystemError) in
            try OwnFile(reading: path, atMost: Self.longestFile, followsLink: true)
        }
        guard found?.isLonger != true else { throw fault("is too long") }
        // Byte by byte: in a text "\r\n" is one character, and would not end the line before it.
        let parts = (found?.content ?? []).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var lines: [Line] = []
        for (index, part) in parts.enumerated() {
            guard let line = Line(part) else {
                throw fault("has something else than an address and a fingerprint in line \(index + 1)")
            }
            lines.append(line)
        }
        if lines.last?.bytes.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Changes the file in one step. Two programs that do so at the same time do it one after the other.
    private func change(_ body: (inout [Line]) -> Void) throws(Fault) {
        let folder = OwnFile.folder(of: path)
        let outcome = try reading { () throws(SystemError) in
            try OwnFile.makeFolder(folder)
            return try OwnFile.withLock(on: folder) { () throws(SystemError) in
                Result { () throws(Fault) in
                    var lines = try lines()
                    body(&lines)
                    try write(lines)
                }
            }
        }
        try outcome.get()
    }

    private func write(_ lines: [Line]) throws(Fault) {
        let content = lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] }
        _ = try reading { () throws(SystemError) in try OwnFile.write(content, to: path, replaces: true) }
    }

    private func reading<Value>(_ body: () throws(SystemError) -> Value) throws(Fault) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw fault("cannot be read or written: \(error.reason)")
        }
    }

    /// - Parameter problem: completes a sentence that begins with the file.
    private func fault(_ problem: String) -> Fault {
        Fault(message: "The list of known servers '\(path.escapedForDisplay)' \(problem).")
    }
}

import Glibc
public import TransferKeys
import TransferModel
import TransferSystem

/// The list of servers whose keys are known: a file with a line for each, the address and the fingerprint. Behind those
/// that this user's own servers wrote stands a mark.
public struct KnownServers: Sendable, Equatable {
    /// One of them.
    public struct Entry: Sendable, Equatable {
        /// As `ServerAddress.server` has it.
        public let address: String

        /// Of its key.
        public let fingerprint: KeyFingerprint

        /// Whether a server of this user wrote it, which may then change it.
        public let isOwn: Bool

        /// Takes all as they are.
        public init(address: String, fingerprint: KeyFingerprint, isOwn: Bool = false) {
            self.address = address
            self.fingerprint = fingerprint
            self.isOwn = isOwn
        }

        /// The address byte by byte: it can be the path of a socket.
        public static func == (a: Entry, b: Entry) -> Bool {
            a.address.hasSameBytes(as: b.address) && a.fingerprint == b.fingerprint && a.isOwn == b.isOwn
        }
    }

    /// Why the list cannot be read or changed.
    public struct Fault: Error, Sendable, Equatable {
        /// A sentence that says what to do.
        public let message: String
    }

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
        try entries().first { $0.address.hasSameBytes(as: address) }?.fingerprint
    }

    /// Knows a server by this key, and by no other, from now on.
    public func add(_ entry: Entry) throws(Fault) {
        guard Self.isOneWord(entry.address) else { throw fault("cannot hold '\(entry.address.escapedForDisplay)'") }
        try change { lines in
            lines.removeAll { $0.entry?.address.hasSameBytes(as: entry.address) ?? false }
            lines.append(Line(entry))
        }
    }

    /// Forgets a server.
    ///
    /// - Returns: whether it was known.
    @discardableResult
    public func remove(_ address: String) throws(Fault) -> Bool {
        guard try fingerprint(of: address) != nil else { return false }
        try change { lines in lines.removeAll { $0.entry?.address.hasSameBytes(as: address) ?? false } }
        return true
    }

    /// Addresses of sockets can have any characters; the few with spaces or control characters cannot be kept, nor what
    /// would be a comment.
    static func isOneWord(_ address: String) -> Bool {
        !address.isEmpty && address.utf8.first != UInt8(ascii: "#")
            && address.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}

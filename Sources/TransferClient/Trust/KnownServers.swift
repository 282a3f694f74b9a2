import Glibc
public import TransferKeys
import TransferModel
import TransferSystem

/// The list of servers whose keys are known. It is a file with a line for each server: the address, the fingerprint of
/// the key, and a mark on lines that a server process of the same user has written.
public struct KnownServers: Sendable, Equatable {
    /// An address and the key that is known for it.
    public struct Entry: Sendable, Equatable {
        /// The server's address in the form of `ServerAddress.server`.
        public let address: String

        /// Fingerprint of the server's key.
        public let fingerprint: KeyFingerprint

        /// Whether a server of this user wrote the entry; servers may replace only such entries.
        public let isOwn: Bool

        /// Makes an entry without checking the address.
        public init(address: String, fingerprint: KeyFingerprint, isOwn: Bool = false) {
            self.address = address
            self.fingerprint = fingerprint
            self.isOwn = isOwn
        }

        /// Compares addresses byte by byte: they can be paths of sockets.
        public static func == (a: Entry, b: Entry) -> Bool {
            a.address.hasSameBytes(as: b.address) && a.fingerprint == b.fingerprint && a.isOwn == b.isOwn
        }
    }

    /// Why the list cannot be read or changed.
    public struct Fault: Error, Sendable, Equatable {
        /// A sentence for people that says what to do.
        public let message: String
    }

    /// Path of the file, which need not exist.
    public let path: String

    /// - Parameter path: path of the file, which is made when it is needed, with its folder.
    public init(path: String) {
        self.path = path
    }

    /// The user's own list: `transfer/known_servers` below XDG_CONFIG_HOME, or below `.config` in HOME. Nil if neither
    /// is set.
    public static var standard: KnownServers? {
        ConfigurationFolder.path.map { KnownServers(path: "\($0)/known_servers") }
    }

    /// All entries, in the order of the file.
    public func entries() throws(Fault) -> [Entry] {
        try lines().compactMap(\.entry)
    }

    /// The key that is known for an address; nil if none is.
    public func fingerprint(of address: String) throws(Fault) -> KeyFingerprint? {
        try entries().first { $0.address.hasSameBytes(as: address) }?.fingerprint
    }

    /// Adds an entry, in place of any other with the same address.
    public func add(_ entry: Entry) throws(Fault) {
        guard Self.isOneWord(entry.address) else { throw fault("cannot hold '\(entry.address.escapedForDisplay)'") }
        try change { lines in
            lines.removeAll { $0.entry?.address.hasSameBytes(as: entry.address) ?? false }
            lines.append(Line(entry))
        }
    }

    /// Removes the entries of an address.
    ///
    /// - Returns: whether the list had such an entry.
    @discardableResult
    public func remove(_ address: String) throws(Fault) -> Bool {
        guard try fingerprint(of: address) != nil else { return false }
        try change { lines in lines.removeAll { $0.entry?.address.hasSameBytes(as: address) ?? false } }
        return true
    }

    /// Whether an address can be kept. Paths of sockets can have any characters; those with spaces or control
    /// characters cannot be kept, nor those that would be a comment.
    static func isOneWord(_ address: String) -> Bool {
        !address.isEmpty && address.utf8.first != UInt8(ascii: "#")
            && address.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}

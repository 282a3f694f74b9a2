/// Why a datagram that begins as those of discovery do is none. It is dropped without a word.
package enum DiscoveryFault: Error, Equatable, Sendable {
    /// Another version than this program knows.
    case unknownVersion(UInt8)
    /// Neither a probe nor an answer.
    case unknownKind(UInt8)
    /// Not as long as it has to be.
    case wrongSize(Int)
    /// Something else than zeros where nothing is meant.
    case strayBytes
    /// Flags that nobody has given a meaning.
    case unknownFlags(UInt8)
    /// No port, or more than there may be, or the port 0.
    case badPorts
    /// A name that none can be.
    case badName
}

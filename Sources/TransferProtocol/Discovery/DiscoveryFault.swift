/// The reason why a datagram with the magic of discovery is invalid. Such datagrams are dropped without an answer.
package enum DiscoveryFault: Error, Equatable, Sendable {
    /// A version that this program does not know.
    case unknownVersion(UInt8)
    /// The kind is neither probe nor answer.
    case unknownKind(UInt8)
    /// The size, which is the value, does not match the kind.
    case wrongSize(Int)
    /// Bytes that must be zero are not.
    case strayBytes
    /// Flags without a meaning in this version.
    case unknownFlags(UInt8)
    /// The datagram has no port, more than 8 ports, or port 0.
    case badPorts
    /// A name that `DiscoveryName` refuses.
    case badName
}

import TransferProtocol

extension TransferLink.Fault: CustomStringConvertible {
    /// A phrase that completes "the link".
    package var description: String {
        switch self {
        case .noHost: "does not begin with transfer:// and the name or address of a server"
        case .badPort: "has a port that is not a number from 1 to 65535"
        case .badFolder(let reason): "has no good folder: \(reason)"
        case .token: "has an access token in it; give that by --token-file, and revoke this one"
        case .badCode: "has a pairing code that is cut or mistyped"
        case .badKey: "has a server's key that is cut or mistyped"
        case .unknownField(let name): "has '\(name.escapedForDisplay)' in it, which this version doesn't know"
        }
    }
}

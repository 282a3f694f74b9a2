import TransferModel

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
        case .unknownField(let name) where Self.isWord(name): "has '\(name)' in it, which this version doesn't know"
        case .unknownField: "has something in it that this version doesn't know"
        }
    }

    /// Other texts are not displayed, because one could be a secret in the wrong place.
    private static func isWord(_ name: String) -> Bool {
        name.utf8.count <= 16 && name.utf8.allSatisfy((UInt8(ascii: "a")...UInt8(ascii: "z")).contains)
    }
}

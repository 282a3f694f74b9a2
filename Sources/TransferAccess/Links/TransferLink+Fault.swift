import TransferModel

extension TransferLink.Fault: CustomStringConvertible {
    /// A phrase that completes "the link".
    package var description: String {
        switch self {
        case .noHost: "does not begin with transfer:// and the name or address of a server"
        case .badPort: "has a port that is not a number from 1 to 65535"
        case .badFolder(let reason): "has an invalid folder: \(reason)"
        case .token: "contains an access token; revoke this token, and give a new one with --token-file"
        case .badCode: "has a pairing code that is incomplete or mistyped"
        case .badKey: "has a server's key that is incomplete or mistyped"
        case .unknownField(let name) where Self.isWord(name): "contains '\(name)', which this version doesn't know"
        case .unknownField: "contains a field that this version doesn't know"
        }
    }

    /// Other texts are not displayed, because one of them could be a secret that was put in the wrong place.
    private static func isWord(_ name: String) -> Bool {
        name.utf8.count <= 16 && name.utf8.allSatisfy((UInt8(ascii: "a")...UInt8(ascii: "z")).contains)
    }
}

import TransferHTTP
import TransferModel

/// What a browser was given to come in with: `/.transfer/in/SECRET`, where its session begins.
struct SignInLink: Equatable, Sendable {
    private static let folder = "/\(RelativePath.reservedName)/in/"

    /// As it came.
    let secret: String

    /// - Returns: nothing for any other path.
    init?(_ head: RequestHead) {
        guard Self.mayBeReserved(head), let target = try? HTTPTarget(head), !target.isFolder else { return nil }
        let names = target.path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 3, "/\(names[0])/\(names[1])/".hasSameBytes(as: Self.folder) else { return nil }
        secret = String(names[2])
    }

    /// Each request is asked, and few are: the name begins with a dot, which somebody may have encoded.
    private static func mayBeReserved(_ head: RequestHead) -> Bool {
        let first = head.resource.utf8.dropFirst().first
        return first == UInt8(ascii: ".") || first == UInt8(ascii: "%")
    }

    /// What a request is about, for the log: without what could be a secret.
    static func hiding(_ head: RequestHead) -> String {
        let target = head.resource.utf8
        guard target.starts(with: folder.utf8) else {
            return String(decoding: head.target.utf8.prefix(Limits.pathComponent), as: UTF8.self)
        }
        return folder + "..."
    }
}

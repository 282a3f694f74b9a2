import TransferHTTP
import TransferIntake
import TransferModel

/// Where an upload is that can be gone on with.
struct UploadAddress {
    /// What its clients speak.
    enum Family: String, CaseIterable {
        /// tus 1.0.0.
        case tus
        /// draft-ietf-httpbis-resumable-upload.
        case up

        var folder: String { "/\(RelativePath.reservedName)/\(rawValue)/" }
    }

    let family: Family

    /// As the client knows it; nothing for where they are made.
    let id: UploadID?

    /// The folder that it is to be stored in, where it is made; without slashes around it.
    let folder: String

    /// - Returns: nothing for any other path.
    init?(_ target: HTTPTarget) {
        // Few paths are the server's own, and each is looked at.
        guard target.path.utf8.first == UInt8(ascii: ".") else { return nil }
        let names = target.path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count >= 2, String(names[0]).hasSameBytes(as: RelativePath.reservedName),
            let family = Family.allCases.first(where: { $0.rawValue.hasSameBytes(as: String(names[1])) })
        else { return nil }
        self.family = family
        let rest = names.dropFirst(2)
        id = target.isFolder || rest.count != 1 ? nil : rest.first.flatMap { UploadID(hexadecimal: $0) }
        folder = rest.joined(separator: "/")
    }

    /// - Parameter id: as the client knows it.
    static func text(_ id: UploadID, _ family: Family) -> String { family.folder + id.description }

    /// The upload that a client names by its address, absolute or not (tus 1.0.0, Upload-Concat).
    ///
    /// - Returns: nothing for what is no address of this server's kind.
    static func id(in text: String, _ family: Family) -> UploadID? {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let name = text[text.utf8.index(after: slash)...]
        guard String(text[...slash]).utf8.suffix(family.folder.utf8.count).elementsEqual(family.folder.utf8) else {
            return nil
        }
        return UploadID(hexadecimal: name)
    }
}

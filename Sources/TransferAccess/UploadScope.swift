internal import COpenSSL
import TransferKeys
package import TransferProtocol

/// Keeps the uploads of clients apart: the id that a client gives an upload is translated, where frames come in, to one
/// that no other client can name. Everything behind that (parts to resume, known uploads, the catalog) knows the
/// translated id alone, so none of it can forget to ask whose upload it is.
///
/// The translation is SHA-256 over who the client is and its id, cut to the length of an id: to meet another client's
/// upload, somebody would have to find a second preimage, and 128 bits are too many for that.
package struct UploadScope: Sendable {
    /// Nothing where nobody is told apart.
    private let prefix: [UInt8]?

    /// Ids stay as they are: for a server that cannot tell its clients apart.
    package static let shared = UploadScope(prefix: nil)

    private init(prefix: [UInt8]?) {
        self.prefix = prefix
    }

    /// The uploads of one client, also after it comes back. A key that is admitted twice, as the owner's and in the
    /// list, is one client.
    package init(_ source: Grant.Source) {
        switch source {
        case .key(let key), .owner(let key): prefix = Array("transfer upload of key ".utf8) + key.raw.bytes
        case .token(let id): prefix = Array("transfer upload of token \(id) ".utf8)
        case .everyone: prefix = Array("transfer upload of anybody ".utf8)
        }
    }

    /// The id that the server knows the upload by.
    package func translated(_ id: UploadID) -> UploadID {
        guard let prefix, id != .none else { return id }
        var text = prefix
        id.encode(into: &text)
        let digest = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var size: UInt32 = 0
            let status = EVP_Digest(text, text.count, buffer.baseAddress, &size, EVP_sha256(), nil)
            precondition(status == 1, "OpenSSL has no SHA-256")
            count = Int(size)
        }
        return UploadID(derivedFrom: digest)
    }
}

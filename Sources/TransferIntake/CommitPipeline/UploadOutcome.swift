package import TransferModel
import TransferStore

/// How an upload, or a part of one, ended.
package enum UploadOutcome: Equatable, Sendable {
    /// Its content is stored under a path.
    case acknowledged(Acknowledgement)
    /// A part is in its place, verified; it counts when its upload is complete.
    case staged(size: UInt64, Digest)
    /// More of an upload that grows is durable; it counts when the upload is complete.
    ///
    /// - Parameter offset: bytes that there are of it.
    case kept(offset: UInt64)
    /// The name is taken, and the sender asked to leave it.
    ///
    /// - Parameter size: bytes that came all the same.
    case skipped(size: UInt64, message: String)
    /// - Parameter size: bytes that came.
    case refused(Failure, size: UInt64)

    package var code: ResultCode {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.code
        case .staged, .kept: .staged
        case .skipped: .skipped
        case .refused(let error, _): error.code
        }
    }

    /// When a refused upload may be tried again; nil where the server has no opinion.
    package var retryAfter: Interval? {
        if case .refused(let error, _) = self { error.retryAfter } else { nil }
    }

    /// Bytes of content that the server took in.
    package var size: UInt64 {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.size
        case .kept(let offset): offset
        case .staged(let size, _), .skipped(let size, _), .refused(_, let size): size
        }
    }

    /// Of the content that is stored.
    package var digest: Digest? {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.digest
        case .staged(_, let digest): digest
        case .kept, .skipped, .refused: nil
        }
    }

    package var isDurable: Bool {
        if case .acknowledged(let acknowledgement) = self { acknowledgement.isDurable } else { false }
    }

    /// Where the content is; nothing unless it is stored.
    package var path: RelativePath? {
        if case .acknowledged(let acknowledgement) = self { acknowledgement.path } else { nil }
    }

    /// A sentence for people, about the server's directory; empty when there is nothing to say.
    package var message: String {
        switch self {
        case .acknowledged, .staged, .kept: ""
        case .skipped(_, let message): message
        case .refused(let error, _): error.message
        }
    }
}

import TransferIntake
import TransferModel
import TransferProtocol

/// Counts a worker's progress, and publishes it once for each batch.
struct UploadMeter {
    private let progress: ConnectionProgress
    private var bytes: UInt64 = 0
    private var uploads = 0
    private var current: ConnectionProgress.Current?

    init(_ progress: ConnectionProgress) {
        self.progress = progress
    }

    /// Counts bytes of content that have arrived.
    mutating func took(_ count: UInt64) { bytes += count }

    /// Counts an upload that was acknowledged.
    mutating func stored() { uploads += 1 }

    /// - Parameter upload: the worker's current upload; nil if it has none.
    mutating func publish(_ upload: OpenUpload?) {
        if let upload {
            current = ConnectionProgress.Current(upload)
        } else if current?.isPart == true {
            // Usually another part of the upload follows, and the bytes of this one count as verified.
            current?.received = 0
        } else {
            current = nil
        }
        progress.advance(bytes, uploads: uploads, current)
        (bytes, uploads) = (0, 0)
    }
}

extension ConnectionProgress.Current {
    /// - Returns: nil for the end of a multipart upload.
    fileprivate init?(_ upload: OpenUpload) {
        let intent = upload.intent
        switch intent.extent {
        case .whole:
            self.init(
                id: intent.id, path: intent.path, client: upload.client, size: intent.size, isPart: false,
                started: upload.started,
                received: upload.size)
        case .part(let part):
            self.init(
                id: part.upload, path: intent.path, client: upload.client, size: part.total, isPart: true,
                started: upload.started,
                received: upload.size)
        case .append(let append):
            self.init(
                id: intent.id, path: intent.path, client: upload.client, size: append.total, isPart: false,
                started: upload.started, received: append.offset.addingClamped(upload.size))
        case .multipart: return nil
        }
    }
}

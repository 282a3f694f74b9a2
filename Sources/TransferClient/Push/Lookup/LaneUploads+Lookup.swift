import TransferModel
import TransferProtocol

/// What the server knows of uploads that it was asked about before they are sent.
extension LaneUploads {
    func lookUp(_ uploads: [PendingUpload]) {
        for upload in uploads { inFlight.add(upload) }
        run.lanes.lookups.asked()
    }

    /// What was acknowledged before needs no content, as long as it is what stands here.
    func known(_ result: UploadResult) {
        guard let upload = inFlight.remove(result.id)?.upload else { return }
        guard result.isAcknowledgement, result.hasPlausiblePath, result.size == upload.size,
            result.digest?.algorithm.function == run.configuration.digestFunction
        else {
            return unknown([upload])
        }
        run.lanes.lookups.knew()
        upload.kind = upload.wantedKind ?? result.kind ?? .file
        report(upload, result)
        news.tell()
    }

    /// Sends them.
    func unknown(_ ids: [UploadID]) {
        unknown(ids.compactMap { inFlight.remove($0)?.upload })
    }

    private func unknown(_ uploads: [PendingUpload]) {
        for upload in uploads { upload.isUnknown = true }
        run.lanes.lookups.missed(uploads.count)
        run.feed.putBack(uploads)
        news.tell()
    }
}

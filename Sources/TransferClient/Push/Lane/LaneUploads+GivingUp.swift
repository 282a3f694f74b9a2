import TransferModel

/// What comes to nothing, and must not stay on the server for that.
extension LaneUploads {
    /// Reports the end of an upload, unless that has been done.
    ///
    /// - Parameter parts: what it is in parts, or some of.
    func report(_ upload: PendingUpload, of parts: (any UploadInParts)?, _ make: (PendingUpload) -> UploadReport) {
        guard let reported = upload.takeReported() else { return }
        let report = make(reported)
        run.channel.send(.finished(report))
        if let parts { giveUp(parts, report.result) }
    }

    /// Takes back what the server has of an upload that ended so, unless the same command could go on with it: one whose
    /// source has changed begins another upload, and so does a stream; and what is shorter is sent again without a question.
    func giveUp(_ parts: any UploadInParts, _ code: ResultCode) {
        let isStored = [.committed, .alreadyStored, .badReceipt].contains(code)
        let isShort = parts.knownSize.map { $0 < PartSharing.usualSmallestFile } ?? false
        guard !isStored, code == .sourceChanged || !parts.whole.isIdentified || isShort else { return }
        send(run.abandoned.giveUp(parts))
    }

    /// Something has its result, or was lost.
    func ended(_ upload: PendingUpload) {
        send(run.abandoned.ended(upload))
    }

    private func send(_ drop: PendingUpload?) {
        guard let drop else { return }
        run.feed.putBack([drop])
        news.tell()
    }
}

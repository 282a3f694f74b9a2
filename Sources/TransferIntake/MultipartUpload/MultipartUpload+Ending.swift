import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

// The ends of an upload: it is complete, its client takes it back, or the server gives it up.
extension MultipartUpload {
    /// Ends the upload and hands out its content.
    ///
    /// - Parameter total: bytes of the upload.
    /// - Returns: the content, which may be longer, and the digest of the upload's bytes; nil if bytes are missing, and
    ///   then the upload stays open.
    /// - Throws: `busy` if the upload is being completed, `storageFailed` if a block that arrived in pieces cannot be
    ///   read; errors of the records.
    func finish(total: UInt64) throws(Failure) -> (staged: any StagedContent, digest: Digest)? {
        monitor.lock()
        defer { monitor.unlock() }
        try refresh()
        guard let staged = try complete(total: total) else { return nil }
        for block in monitor.state.parts.undigestedBlocks(of: total) {
            // While the last block was read, another connection may have begun to write to this one.
            guard monitor.state.parts.cover(block) else { return nil }
            guard digest(block, in: staged) != nil else { throw .unreadableBlock }
        }
        // Other connections may have claimed bytes meanwhile.
        guard try complete(total: total) != nil, let digests = monitor.state.parts.digests(total: total) else {
            return nil
        }
        _ = close()
        return (staged, BlockTree.root(digests, function))
    }

    /// Called with the lock held.
    ///
    /// - Returns: the content, if every byte of it is there.
    private func complete(total: UInt64) throws(Failure) -> (any StagedContent)? {
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.parts.end == total, monitor.state.parts.contiguousEnd == total else { return nil }
        return monitor.state.place.content
    }

    /// Ends the upload and discards its content, because its client has taken it back.
    ///
    /// - Parameters:
    ///   - connection: the caller's number. Newer connections have greater numbers.
    ///   - run: the push of the connection.
    ///   - remove: removes the file of the upload, if it is not open.
    /// - Throws: `incomplete` if a newer connection of another push works on it; `busy` if it is being completed;
    ///   errors of `remove`.
    func takeBack(
        connection: Int, run: UInt64?, remove: () throws(Failure) -> Void
    ) throws(Failure) {
        let staged = try endTaking(back: connection, run)
        // The upload is finished, so no connection finds the file that is being removed.
        if let staged { staged.discard() } else { try remove() }
    }

    private func endTaking(back connection: Int, _ run: UInt64?) throws(Failure) -> (any StagedContent)? {
        monitor.lock()
        defer { monitor.unlock() }
        try checkEpoch()
        // Otherwise the file that another thread is opening would stay in the folder of incoming parts.
        while case .opening = monitor.state.place { monitor.wait() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.mayBeTakenBack(by: connection, run) else { throw .takenOver }
        return close()
    }

    /// Ends the upload without waiting for the disk.
    ///
    /// - Returns: how many bytes were verified and not holes, and the file, which belongs to the caller from now on;
    ///   nil if another thread has ended the upload and has the file.
    func end() -> (brought: UInt64, file: (any StagedContent)?)? {
        monitor.withLock {
            guard !monitor.state.isFinished else { return nil }
            // An append upload is kept however short it is, because its client may know its address.
            let isAppend = monitor.state.appendUpload != nil
            let brought = isAppend ? .max : min(monitor.state.brought, monitor.state.parts.size)
            return (brought, close())
        }
    }

    /// Called with the lock held. When it returns, no thread writes any more.
    func close() -> (any StagedContent)? {
        let staged = monitor.state.finish()
        monitor.wakeAll()
        waitForWriters(of: 0..<UInt64.max)
        return staged
    }
}

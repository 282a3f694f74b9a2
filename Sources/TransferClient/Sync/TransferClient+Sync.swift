/// Two trees that are made the same.
extension TransferClient {
    /// Makes the folder of the server's address the same as a directory of this machine: files, folders, symbolic and hard
    /// links, with permissions, times and extended attributes. What the selection leaves out stays as it is on both sides.
    ///
    /// - Returns: what happens, ending with a summary. It throws `TransferFailure` when one of the two cannot be looked at, or the
    ///   connection is lost for good.
    public func sync(from directory: String, options: SyncOptions = SyncOptions()) -> RequestEvents<SyncEvent> {
        sync(options) { worker throws(TransferFailure) in try await worker.push(directory) }
    }

    /// Makes a directory of this machine the same as the folder of the server's address. The directory is made where it is
    /// missing.
    public func sync(to directory: String, options: SyncOptions = SyncOptions()) -> RequestEvents<SyncEvent> {
        sync(options) { worker throws(TransferFailure) in try await worker.pull(directory) }
    }

    private func sync(
        _ options: SyncOptions,
        _ body: @escaping @Sendable (SyncWorker) async throws(TransferFailure) -> SyncSummary
    ) -> RequestEvents<SyncEvent> {
        let events = EventQueue<SyncEvent>()
        let work = Task { [self] in
            let result: Result<Void, TransferFailure>
            do throws(TransferFailure) {
                let client = try TransferClient(server: server, configuration: requestContext.configuration.syncing)
                let worker = SyncWorker(client, requestContext.configuration.selection, options) { events.send($0) }
                events.send(.ended(try await body(worker)))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            events.finish(result)
        }
        events.connect(onRoom: {}, onCancel: { work.cancel() })
        return RequestEvents(events)
    }

    /// The same, which keeps more of what it sends.
    func keeping(_ kept: ClientConfiguration.KeptAttributes) throws(TransferFailure) -> TransferClient {
        var configuration = requestContext.configuration
        configuration.kept = kept
        return try TransferClient(server: server, configuration: configuration)
    }
}

extension ClientConfiguration {
    /// What is sent takes the place of what is there; which files those are is decided before.
    fileprivate var syncing: ClientConfiguration {
        var configuration = self
        (configuration.conflict, configuration.comparesContent) = (.overwrite, true)
        (configuration.countsAhead, configuration.asksByFolder, configuration.archives) = (false, false, false)
        configuration.selection = Selection()
        return configuration
    }
}

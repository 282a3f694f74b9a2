import TransferModel
import TransferProtocol

/// Whole folders that the server is asked about.
extension LaneProducer {
    /// Files in the folders of one chunk: the server shall look at them while the next ones are looked at here.
    private static let filesAtOnce = 1024

    /// Asks about the folders that come next.
    ///
    /// - Returns: nothing where something else comes next.
    func askAboutFolders(_ chunk: OutgoingChunk, _ orders: Orders) -> Next? {
        guard var room = orders.lookups.folders, !orders.onlyUnderWay, next == nil, !feed.hasReturned else {
            if let folder = nextFolder.take() { feed.putBack(folder) }
            return nil
        }
        var files = 0
        while files < Self.filesAtOnce, chunk.room >= OutgoingChunk.controlRoom {
            guard let folder = nextFolder.take() ?? feed.nextFolder() else { break }
            guard room.isOpen else {
                nextFolder = folder
                return chunk.isEmpty ? .waitForAnswer : .more
            }
            guard let digest = folder.look(ids) else {
                feed.putBack(folder)
                break
            }
            folderQuestions &+= 1
            let compare = CompareRequest(
                id: folderQuestions, .uploads(configuration.digestFunction), in: folder.destination, digest)
            let asked = AskedFolder(folder: folder, compare: compare)
            room.take(asked)
            files += folder.files.count
            var frame: [UInt8] = []
            asked.request.message.encode(into: &frame)
            chunk.append(frame)
            chunk.folders.append(asked)
        }
        return files > 0 ? .more : nil
    }
}

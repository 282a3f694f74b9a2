import TransferModel
import TransferProtocol

/// Asking the server about whole folders.
extension LaneProducer {
    /// The number of files after which a chunk with questions is sent, so that the server works on it while the client
    /// reads the next folders.
    private static let filesAtOnce = 1024

    /// Asks about the next folders.
    ///
    /// - Returns: nil if something else comes next.
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

package import TransferModel
import TransferPorts

extension ClusterStore {
    package func removeMail(_ paths: [RelativePath]) {
        for path in paths where RelativePath(mail: path.string) != nil {
            // Like a directory, the store does not say what was there.
            let freed = try? settle { (view) throws(ViewError) -> UInt64? in
                guard let node = try view.looking(at: path), let file = node.file else { return nil }
                view.remove(node)
                return file.size
            }
            if let freed = freed ?? nil { space?.quota?.removed(freed) }
        }
    }

    package func mailFiles() -> [RelativePath] {
        guard let folder = try? node(at: .mailFolder) else { return [] }
        var (paths, last): ([RelativePath], PathKey?) = ([], nil)
        while let page = try? ledger.list(folder.number, after: last, limit: 1000), !page.isEmpty {
            paths += page.compactMap { RelativePath(mail: "\(RelativePath.mailFolder.string)/\($0.name.string)") }
            last = page.last?.name
        }
        return paths
    }
}

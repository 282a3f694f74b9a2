import TransferCodec
import TransferProtocol

extension ClientConfiguration {
    /// What the governor of a push decides between.
    var compressionMode: CompressionGovernor.Mode {
        switch compression {
        case .none: .none
        case .zlib: .fixed(CompressionMethod(.zlib, level: compressionLevel))
        case .zstd: .fixed(CompressionMethod(.zstd, level: compressionLevel))
        case .auto: .auto(zlibLevel: compressionLevel)
        }
    }

    /// How the server may send content.
    var contentFeatures: Features { compressionFeatures.union(.holes) }

    private var compressionFeatures: Features {
        switch compression {
        case .none: []
        case .zlib: .zlib
        case .zstd: .zstd
        case .auto: [.zlib, .zstd]
        }
    }
}

/// Red, green, blue and alpha, not premultiplied.
typealias Pixel = SIMD4<UInt8>

/// A picture in memory, row by row from the top.
struct Raster: Equatable {
    let width: Int
    let height: Int
    /// As many as `width` times `height`.
    var pixels: [Pixel]

    /// - Parameter pixel: colour of all pixels; transparent by default.
    init(width: Int, height: Int, filledWith pixel: Pixel = Pixel()) {
        (self.width, self.height) = (width, height)
        pixels = [Pixel](repeating: pixel, count: width * height)
    }

    /// Largest size with the same proportions whose sides have at most `side` pixels; never larger than the picture.
    static func size(fitting width: Int, _ height: Int, side: Int) -> (width: Int, height: Int) {
        let longest = max(width, height)
        guard longest > side else { return (width, height) }
        return (max(1, (width * side + longest / 2) / longest), max(1, (height * side + longest / 2) / longest))
    }
}

extension Raster {
    /// The picture in half its size, rounded up.
    var halved: Raster {
        var scaler = AreaScaler(
            width: width, height: height, to: ((width + 1) / 2, (height + 1) / 2), rows: .inOrder, keepsAlpha: true)
        pixels.withUnsafeBufferPointer { pixels in
            for y in 0..<height {
                scaler.add(UnsafeBufferPointer(rebasing: pixels[y * width..<(y + 1) * width]), at: y)
            }
        }
        return scaler.finish()
    }
}

/// Reduces a picture to a smaller one while its rows come. Each new pixel is the average of the area that it covers.
///
/// The arithmetic is exact: a row of W pixels becomes one of w by weights in units of 1/w, whose sum is W. Colours are
/// weighted by alpha, so that transparent pixels have no influence. With 65,500 pixels in a row at most, a row's sums
/// are below 255 * 255 * 65,500 < 2^32, and all others below 2^57.
///
/// Call `add` for each row, at most once, and `finish` at the end.
struct AreaScaler {
    /// What is known about the picture before its rows come.
    struct Rows: OptionSet {
        let rawValue: UInt8

        /// Rows come from the top to the bottom, so that the sums of one new row are enough.
        static let inOrder = Rows(rawValue: 1)
        /// Every pixel of every row is opaque.
        static let opaque = Rows(rawValue: 2)
    }

    /// Part of a row that becomes one pixel.
    private struct Column {
        /// The first pixel, of which `firstWeight` belongs to the column.
        let first: Int
        let firstWeight: UInt32
        /// The pixel behind those that belong to the column as a whole, of which `lastWeight` does.
        let last: Int
        let lastWeight: UInt32
    }

    private let width: Int
    private let height: Int
    private let rows: Rows
    private let keepsAlpha: Bool
    private let columns: [Column]
    /// Weighted sums of one row: colours times alpha, and 255 times alpha.
    private var line: [SIMD4<UInt32>]
    /// Weighted sums of lines, for one new row or for all.
    private var sums: [SIMD4<UInt64>]
    /// The new row to which the sums belong, if rows come in order.
    private var current = 0
    private var raster: Raster

    /// - Parameters:
    ///   - width: pixels of the rows that come, 1 to `PictureLimits.side`.
    ///   - height: number of the rows, 1 to `PictureLimits.side`.
    ///   - size: of the new picture, not larger in any direction.
    ///   - keepsAlpha: whether the new picture has alpha. If not, places where no row came are gray, as in libjpeg.
    init(width: Int, height: Int, to size: (width: Int, height: Int), rows: Rows, keepsAlpha: Bool) {
        // Trap: callers have checked the limits, and compute the new size from the old one.
        precondition((1...width).contains(size.width) && (1...height).contains(size.height), "enlarged")
        // Trap: the same.
        precondition(max(width, height) <= PictureLimits.side, "\(width) x \(height) pixels")
        (self.width, self.height, self.rows, self.keepsAlpha) = (width, height, rows, keepsAlpha)
        columns = (0..<size.width).map { x in
            let (start, end) = (x * width, (x + 1) * width)
            let (first, last) = (start / size.width, end / size.width)
            return Column(
                first: first, firstWeight: UInt32((first + 1) * size.width - start), last: last,
                lastWeight: UInt32(end - last * size.width))
        }
        line = Array(repeating: SIMD4(), count: size.width)
        sums = Array(repeating: SIMD4(), count: rows.contains(.inOrder) ? size.width : size.width * size.height)
        let gray: UInt8 = 128
        raster = Raster(
            width: size.width, height: size.height, filledWith: keepsAlpha ? Pixel() : Pixel(gray, gray, gray, 255))
    }

    /// Adds the row with number `y`, which has as many pixels as the picture is wide.
    mutating func add(_ row: UnsafeBufferPointer<Pixel>, at y: Int) {
        // Trap: the loops below are not checked for bounds, and only the decoders' own counts come here.
        precondition(row.count == width && (0..<height).contains(y), "row \(y) with \(row.count) pixels")
        if rows.contains(.opaque) { sumOpaque(row) } else { sumWeighted(row) }
        let (start, end) = (y * raster.height, (y + 1) * raster.height)
        let first = start / height
        let boundary = min((first + 1) * height, end)
        accumulate(at: first, weight: UInt64(boundary - start))
        if end > boundary { accumulate(at: first + 1, weight: UInt64(end - boundary)) }
    }

    /// Returns the new picture, after the last row.
    mutating func finish() -> Raster {
        if rows.contains(.inOrder) {
            emit(current, from: 0)
        } else {
            for y in 0..<raster.height { emit(y, from: y * raster.width) }
        }
        return raster
    }

    private mutating func sumOpaque(_ row: UnsafeBufferPointer<Pixel>) {
        let scale = UInt32(raster.width)
        let opaque: UInt32 = 255
        line.withUnsafeMutableBufferPointer { line in
            for (x, column) in columns.enumerated() {
                var inner = SIMD4<UInt32>()
                for index in column.first + 1..<max(column.first + 1, column.last) {
                    inner &+= SIMD4(truncatingIfNeeded: row[index])
                }
                var sum = inner &* scale &+ SIMD4(truncatingIfNeeded: row[column.first]) &* column.firstWeight
                if column.lastWeight > 0 { sum &+= SIMD4(truncatingIfNeeded: row[column.last]) &* column.lastWeight }
                line[x] = sum &* opaque
            }
        }
    }

    private mutating func sumWeighted(_ row: UnsafeBufferPointer<Pixel>) {
        let scale = UInt32(raster.width)
        line.withUnsafeMutableBufferPointer { line in
            for (x, column) in columns.enumerated() {
                var inner = SIMD4<UInt32>()
                for index in column.first + 1..<max(column.first + 1, column.last) {
                    inner &+= Self.premultiplied(row[index])
                }
                var sum = inner &* scale &+ Self.premultiplied(row[column.first]) &* column.firstWeight
                if column.lastWeight > 0 { sum &+= Self.premultiplied(row[column.last]) &* column.lastWeight }
                line[x] = sum
            }
        }
    }

    @inline(__always) private static func premultiplied(_ pixel: Pixel) -> SIMD4<UInt32> {
        var value = SIMD4<UInt32>(truncatingIfNeeded: pixel)
        let alpha = value.w
        value.w = 255
        return value &* alpha
    }

    private mutating func accumulate(at y: Int, weight: UInt64) {
        var start = y * raster.width
        if rows.contains(.inOrder) {
            if y != current {
                emit(current, from: 0)
                current = y
                for x in sums.indices { sums[x] = SIMD4() }
            }
            start = 0
        }
        for x in line.indices { sums[start + x] &+= SIMD4<UInt64>(truncatingIfNeeded: line[x]) &* weight }
    }

    /// Divides the sums from `start` on, which gives the pixels of a new row.
    private mutating func emit(_ y: Int, from start: Int) {
        let whole = 255 * UInt64(width) * UInt64(height)
        for x in 0..<raster.width {
            let sum = sums[start + x]
            guard sum.w > 0 else { continue }
            let colour = (sum &* 255 &+ sum.w / 2) / sum.w
            let alpha = keepsAlpha ? (sum.w + whole / 2) / whole : 255
            raster.pixels[y * raster.width + x] = Pixel(
                UInt8(clamping: colour.x), UInt8(clamping: colour.y), UInt8(clamping: colour.z), UInt8(clamping: alpha))
        }
    }
}
